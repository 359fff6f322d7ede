"""Takes the parts of a document into the same vault as documents of their own."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from docmill.errors import DocumentError, room_in
from docmill.files import chunks, digest
from docmill.model.document import Part
from docmill.pipeline import PartLimits
from docmill.ports import PartFile, Ref
from docmill.resilience.breaker import Breaker
from docmill.service.intake.accept import Intake
from docmill.service.intake.attachment_kinds import LEFT_OUT, METADATA_KEY, is_left_out
from docmill.service.protocol.claim_rules import ClaimLostError
from docmill.service.protocol.pause import guarded_part
from docmill.service.store import parts as store
from docmill.service.store.claims import Claim
from docmill.service.store.database import Database
from docmill.service.store.parts import Root


@dataclass(frozen=True, slots=True)
class VaultMemberReceiver:
    """`PartsReceiver` of one claimed ingestion. What the claim no longer holds is not written.

    place: a folder of this ingestion's own, that goes with it.
    """

    intake: Intake
    database: Database
    claim: Claim
    place: Path
    limits: PartLimits
    writes: Breaker

    async def folder(self, ref: Ref) -> Path:
        """See `PartsReceiver.folder`."""
        del ref
        self.limits.check_depth((await self._root()).depth)
        folder = self.place / "parts"
        with room_in("the work folder"):
            await asyncio.to_thread(folder.mkdir)
        return folder

    async def receive(self, ref: Ref, parts: Sequence[PartFile]) -> list[Part]:
        """See `PartsReceiver.receive`. Raises ClaimLostError too."""
        del ref
        root = await self._root()
        kinds = root.metadata.get(METADATA_KEY)
        parts = [
            replace(file, part=replace(file.part, problem=file.part.problem or LEFT_OUT), path=None)
            if is_left_out(file.part, kinds)
            else file
            for file in parts
        ]
        admitted, before = await self._admit(parts, root)
        stored = [
            await self._store_part(position, file, root, before=before.get(position))
            for position, file in enumerate(admitted, 1)
        ]
        # The problems of parts are stored, and parts removed that an earlier reading had found in addition.
        async with self.database.tenant(self.claim.tenant_id) as conn:
            if not await store.still_held(conn, self.claim):
                raise ClaimLostError
            for position, part in enumerate(stored, 1):
                if part.problem is not None:
                    await store.link(conn, self.claim, position, part, child_id=None, root=root)
            await store.unlink_after(conn, self.claim, len(stored))
        return stored

    async def _admit(self, parts: Sequence[PartFile], root: Root) -> tuple[list[PartFile], dict[int, str]]:
        """The parts within the limit of the upload, and the contents of those that were taken before.

        They are counted in the same transaction: other documents of the upload may be unpacked meanwhile.
        """
        async with self.database.tenant(self.claim.tenant_id) as conn:
            await store.lock_root(conn, root.ingestion_id)
            if not await store.still_held(conn, self.claim):
                raise ClaimLostError
            before = await store.taken_before(conn, self.claim.document_id, root.ingestion_id)
            others = await store.count_of_others(conn, self.claim.document_id, root.ingestion_id)
            admitted = self.limits.admit(parts, taken=others)
            await store.reserve(conn, self.claim, [file.part for file in admitted], root=root)
        return admitted, before

    async def _root(self) -> Root:
        async with self.database.tenant(self.claim.tenant_id) as conn:
            return await store.root_of(conn, self.claim.ingestion_id)

    async def _store_part(self, position: int, file: PartFile, root: Root, *, before: str | None) -> Part:
        """Store a part; the part, with its problem if it could not be stored."""
        part, path = file.part, file.path
        if path is None:
            return part
        if before is not None and before == await asyncio.to_thread(digest, path):
            return part
        try:
            async with guarded_part(self.writes):
                await self.intake.accept_part(
                    chunks(path), claim=self.claim, root=root, position=position, part=part
                )
        except DocumentError as error:
            return replace(part, problem=error.message)
        return part
