"""Parts of a run's documents: stored until the run processes them as documents of their own."""

import asyncio
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from docmill.errors import ServerError
from docmill.files import digest
from docmill.model.document import Part
from docmill.pipeline import PartLimits
from docmill.ports import Original, PartFile, Ref


@dataclass
class Family:
    """A document of the folder and everything within it. taken: how many parts so far, at any depth."""

    limits: PartLimits
    taken: int = 0


class PartsAside:
    """`PartsReceiver` of one document. depth: how many documents this one stands in."""

    def __init__(self, family: Family, depth: int) -> None:
        self.files: list[PartFile] = []
        self._family = family
        self._depth = depth
        self._folder: Path | None = None

    @property
    def parts(self) -> list[Part]:
        """The received parts."""
        return [file.part for file in self.files]

    async def folder(self, ref: Ref) -> Path:
        """See `PartsReceiver.folder`."""
        del ref
        self._family.limits.check_depth(self._depth)
        await self.remove()
        try:
            self._folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="docmill-parts-"))
        except OSError as error:
            raise ServerError(f"cannot make a folder for parts: {error.strerror}") from error
        return self._folder

    async def receive(self, ref: Ref, parts: Sequence[PartFile]) -> list[Part]:
        """See `PartsReceiver.receive`."""
        del ref
        family = self._family
        family.taken -= len(self.files)
        self.files = family.limits.admit(parts, taken=family.taken)
        family.taken += len(self.files)
        return self.parts

    async def remove(self) -> None:
        """Remove the files once their documents are processed."""
        if self._folder is not None:
            await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)


class PartReader:
    """`Reader` of one part."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def read(self, ref: Ref) -> Original:
        """See `Reader.read`."""
        return Original(self._path, ref.name, await asyncio.to_thread(digest, self._path))


def part_source(whole: str, part: Part) -> str:
    """The source of a part's record: `mail.eml/invoice.pdf`."""
    return f"{whole}/{part.name}"


def part_ref(whole: Ref, part: Part) -> Ref:
    """A part as a document to be processed."""
    return Ref(part_source(whole.key, part), part.name.rpartition("/")[2])
