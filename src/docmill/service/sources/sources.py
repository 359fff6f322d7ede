"""The sources of all tenants, as people make, change, test and remove them."""

import asyncio
import json
import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

import pydantic
from pydantic import JsonValue, SecretStr

from docmill.errors import MisconfiguredError, TimeLimitError, ValidationError
from docmill.service.config.settings import Settings
from docmill.service.events.wakeups import Wakeups
from docmill.service.intake.accept import Intake
from docmill.service.secret_box import SecretBox
from docmill.service.sources.authorization import (
    PendingPermission,
    PermissionServer,
    address_for_owner,
    refresh_token_of,
)
from docmill.service.sources.item_intake import ItemIntake
from docmill.service.sources.json_http import JsonHttp, checked_address
from docmill.service.sources.kinds import Connection, KindSettings, OpenedSource
from docmill.service.sources.rate_limits import ItemLimits
from docmill.service.sources.registry import kind_of
from docmill.service.store import api_keys, arrivals, doc_sources, fetch_requests, handovers
from docmill.service.store.arrivals import ArrivalRow
from docmill.service.store.database import Conn, Database, new_id
from docmill.service.store.doc_sources import SourceRow

_LONGEST_NAME = 100
_TEST_S = 30.0


class Sources:
    """Makes and opens sources. box: encrypts their secrets, which nobody is shown again."""

    def __init__(
        self, database: Database, intake: Intake, box: SecretBox, settings: Settings, wakeups: Wakeups
    ) -> None:
        self._database = database
        self._intake = intake
        self._box = box
        self._settings = settings
        self._wakeups = wakeups

    async def every(self, *, tenant_id: UUID) -> list[SourceRow]:
        """The sources of the tenant by name."""
        async with self._database.tenant(tenant_id) as conn:
            return await doc_sources.every(conn)

    async def get(self, source_id: UUID, *, tenant_id: UUID) -> SourceRow | None:
        """The source; None if there is none, or if it was removed."""
        async with self._database.tenant(tenant_id) as conn:
            row = await doc_sources.get(conn, source_id)
        return None if row is None or row.removed_at is not None else row

    async def find(self, source_id: UUID) -> SourceRow | None:
        """The source of whatever tenant, for a request from outside that names the source alone.

        The caller checks that the request may be heard: that it is signed, or comes with a token.
        """
        async with self._database.transaction() as conn:
            tenant_id = await doc_sources.tenant_of(conn, source_id)
        return None if tenant_id is None else await self.get(source_id, tenant_id=tenant_id)

    async def add(
        self,
        kind: str,
        name: str,
        settings: Mapping[str, JsonValue],
        secrets: Mapping[str, JsonValue],
        *,
        tenant_id: UUID,
        created_by: UUID,
        api_key_id: UUID | None = None,
    ) -> SourceRow:
        """Make a source, which is watched from now on.

        api_key_id: the key that makes it, and with which it ends. Raises ValidationError for settings that
        its kind does not take, and for a key that has an end; a SetupError for settings that the installation
        does not allow, or if secrets cannot be kept.
        """
        checked, kept = self._checked(kind, settings, secrets)
        source_id = new_id()
        async with self._database.tenant(tenant_id) as conn:
            await api_keys.check_lasting(conn, api_key_id, "a source")
            await doc_sources.add(
                conn,
                source_id=source_id,
                tenant_id=tenant_id,
                kind=kind,
                name=_checked_name(name),
                settings=checked.model_dump(mode="json"),
                secrets=self._seal(kept, source_id),
                created_by=created_by,
            )
            if api_key_id is not None:
                await doc_sources.bind_to_key(conn, source_id, api_key_id)
            return await _existing(conn, source_id)

    async def change(
        self,
        row: SourceRow,
        *,
        name: str | None = None,
        settings: Mapping[str, JsonValue] | None = None,
        secrets: Mapping[str, JsonValue] | None = None,
        api_key_id: UUID | None = None,
    ) -> SourceRow:
        """Change a source; what is None stays, and so do secrets that are not among `secrets`.

        A setting that docmill has made stays, unless it is given as an empty one, which makes another.
        api_key_id: the key that changes it, and with which it ends. Raises as `add` does.
        """
        before = self._secrets_before(row, secrets or {})
        checked, kept = self._checked(
            row.kind,
            row.settings if settings is None else settings,
            {**before, **_given(secrets or {})},
            before=row.settings,
        )
        _check_targets(row, checked, before.keys() - _given(secrets or {}).keys())
        async with self._database.tenant(row.tenant_id) as conn:
            await _end_with_key(conn, row.id, api_key_id)
            await doc_sources.change(
                conn,
                row.id,
                name=row.name if name is None else _checked_name(name),
                settings=checked.model_dump(mode="json"),
                secrets=self._seal(kept, row.id),
            )
            return await _existing(conn, row.id)

    async def make_secrets(self, row: SourceRow, *, api_key_id: UUID | None = None) -> dict[str, str]:
        """Make the secrets anew that docmill itself makes for a kind; they are shown this once.

        Those of before hold as long as the kind says. api_key_id: as `change`. Raises ValidationError for a
        kind that has none.
        """
        make = kind_of(row.kind).new_secrets
        if make is None:
            raise ValidationError(f"sources of the kind {row.kind!r} have no secret that docmill makes")
        try:
            before: dict[str, JsonValue] = json.loads(self._plain_secrets(row))
        except MisconfiguredError:
            before = {}
        made = dict(make(before))
        await self.change(row, secrets=dict[str, JsonValue](made), api_key_id=api_key_id)
        return {name: value for name, value in made.items() if value not in before.values()}

    def permission_server(self, row: SourceRow) -> PermissionServer | None:
        """The provider that gives the permission to read the mailbox of a source; None if it needs none."""
        return kind_of(row.kind).permission_server(self.opened(row))

    def ask_permission(self, row: SourceRow, redirect_uri: str) -> tuple[str, PendingPermission]:
        """The address at which its owner lets docmill read a mailbox, and what to keep meanwhile.

        Raises ValidationError for a source that needs no permission.
        """
        pending = PendingPermission(redirect_uri)
        return address_for_owner(self._known_server(row), pending), pending

    async def keep_permission(
        self, row: SourceRow, pending: PendingPermission, answer: Mapping[str, str]
    ) -> SourceRow:
        """Keep the permission with which the browser of the owner came back. Raises as `refresh_token_of`.

        answer: the query of the address to which the browser was sent.
        """
        http = JsonHttp(self._settings.sources.allow_private_addresses)
        token = await refresh_token_of(self._known_server(row), pending, answer, http)
        return await self.change(row, secrets={"refresh_token": token.get_secret_value()})

    def _known_server(self, row: SourceRow) -> PermissionServer:
        server = self.permission_server(row)
        if server is None:
            raise ValidationError("this source needs no permission: it does not sign in by OAuth 2")
        checked_address(
            server.address,
            "the address at which the owner grants access",
            allow_private=self._settings.sources.allow_private_addresses,
        )
        return server

    async def set_state(
        self,
        source_id: UUID,
        state: doc_sources.State,
        *,
        tenant_id: UUID,
        api_key_id: UUID | None = None,
    ) -> bool:
        """Pause or resume a source; False if there is none.

        api_key_id: the key that resumes it, and with which it ends. Raises ValidationError for a source that
        nobody answers for, and for a key with an end.
        """
        async with self._database.tenant(tenant_id) as conn:
            if state == "active":
                await handovers.check_kept(conn, "source", source_id)
                await _end_with_key(conn, source_id, api_key_id)
            return await doc_sources.set_state(conn, source_id, state)

    async def remove(self, source_id: UUID, *, tenant_id: UUID) -> bool:
        """Remove a source and its secrets; False if there is none. Its documents stay."""
        async with self._database.tenant(tenant_id) as conn:
            await fetch_requests.remove_of_source(conn, source_id)  # their addresses may hold secrets
            return await doc_sources.remove(conn, source_id)

    async def test(self, row: SourceRow) -> str:
        """Try a source; a sentence about what was found. Raises SetupError, TransientError."""
        return await _tried(self.open(row))

    async def test_settings(
        self,
        kind: str,
        settings: Mapping[str, JsonValue],
        secrets: Mapping[str, JsonValue],
        *,
        tenant_id: UUID,
    ) -> str:
        """Try settings before a source is made of them. Raises as `add` and `test` do."""
        checked, kept = self._checked(kind, settings, secrets)
        opened = OpenedSource(new_id(), tenant_id, "", checked, kept)
        return await _tried(kind_of(kind).open(opened, self._settings))

    async def test_change(
        self, row: SourceRow, settings: Mapping[str, JsonValue], secrets: Mapping[str, JsonValue]
    ) -> str:
        """Try other settings of a source before it is changed; its secrets are used where none are given."""
        before = self._secrets_before(row, secrets)
        checked, kept = self._checked(row.kind, settings, {**before, **_given(secrets)}, before=row.settings)
        _check_targets(row, checked, before.keys() - _given(secrets).keys())
        opened = replace(self.opened(replace(row, secrets=None)), settings=checked, secrets=kept)
        return await _tried(kind_of(row.kind).open(opened, self._settings))

    def open(self, row: SourceRow) -> Connection:
        """The source in use. Raises MisconfiguredError if its secrets cannot be opened or used any more."""
        return kind_of(row.kind).open(self.opened(row), self._settings)

    def opened(self, row: SourceRow) -> OpenedSource:
        """The source with its settings and secrets. Raises as `open` does."""
        kind = kind_of(row.kind)
        try:
            secrets = kind.secrets.model_validate_json(self._plain_secrets(row))
        except pydantic.ValidationError as error:  # kept by a release that took them; its text quotes them
            raise MisconfiguredError(f"enter the secrets of the source again: {_in_words(error)}") from None
        return OpenedSource(
            row.id,
            row.tenant_id,
            row.name,
            kind.settings.model_validate(row.settings),
            secrets,
            row.position,
            partial(self._keep_secrets, row),
        )

    def item_intake(self, row: SourceRow, *, longest_wait_s: float = math.inf) -> ItemIntake:
        """The intake of the source, within its limits and those of the installation.

        longest_wait_s: it waits for its turn, so long; whoever sends an item is told to come again then.
        """
        kind = kind_of(row.kind)
        limits = ItemLimits(
            self._database,
            row.id,
            row.tenant_id,
            own=kind.settings.model_validate(row.settings).limits,
            shared=self._settings.sources,
            longest_wait_s=longest_wait_s,
        )
        return ItemIntake(
            self._intake,
            self._database,
            source_id=row.id,
            tenant_id=row.tenant_id,
            created_by=row.created_by,
            next_notice=partial(self._wakeups.next, _topic(row.id)),
            limits=limits,
            version=row.version,
        )

    def wake(self, source_id: UUID) -> None:
        """Tell whoever watches the source that something has arrived there, soon."""
        self._wakeups.announce(_topic(source_id))

    def address(self, row: SourceRow) -> str | None:
        """The address to which others send, for people to see; None for a kind without one."""
        return kind_of(row.kind).address(row, self._settings)

    async def _keep_secrets(self, row: SourceRow, secrets: KindSettings) -> None:
        async with self._database.tenant(row.tenant_id) as conn:
            await doc_sources.keep_secrets(conn, row.id, self._seal(secrets, row.id), version=row.version)

    def secret_names(self, row: SourceRow) -> list[str]:
        """The names of the secrets that are kept; none if they cannot be decrypted any more."""
        try:
            return sorted(json.loads(self._plain_secrets(row)))
        except MisconfiguredError:
            return []

    async def items(
        self, source_id: UUID, *, tenant_id: UUID, refused_only: bool = False, limit: int = 50
    ) -> list[ArrivalRow]:
        """The newest items of a source."""
        async with self._database.tenant(tenant_id) as conn:
            return await arrivals.of_source(conn, source_id, refused_only=refused_only, limit=limit)

    async def forget_refusal(self, source_id: UUID, arrival_id: UUID, *, tenant_id: UUID) -> bool:
        """Forget that an item was refused: it is taken when it is found or sent again.

        A watched source is looked at again at once, from its beginning. False if there is no such refusal.
        """
        row = await self.get(source_id, tenant_id=tenant_id)
        if row is None:
            return False
        async with self._database.tenant(tenant_id) as conn:
            is_forgotten = await arrivals.forget(conn, source_id, arrival_id)
            if is_forgotten:
                await doc_sources.begin_again(conn, source_id, from_start=kind_of(row.kind).takes_all)
        return is_forgotten

    async def refused(self, *, tenant_id: UUID) -> dict[UUID, int]:
        """The numbers of refused items, of the sources that have some."""
        async with self._database.tenant(tenant_id) as conn:
            return await arrivals.refused_by_source(conn)

    def _secrets_before(self, row: SourceRow, entered: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """The secrets that are kept; none if their key is lost and a person enters them again.

        Raises MisconfiguredError if it is lost, and nobody enters any.
        """
        try:
            return json.loads(self._plain_secrets(row))
        except MisconfiguredError:
            if not _given(entered):
                raise
            return {}

    def _plain_secrets(self, row: SourceRow) -> bytes:
        return b"{}" if row.secrets is None else self._box.open(row.secrets, owner=row.id)

    def _checked(
        self,
        kind_name: str,
        settings: Mapping[str, JsonValue],
        secrets: Mapping[str, JsonValue],
        *,
        before: Mapping[str, JsonValue] | None = None,
    ) -> tuple[KindSettings, KindSettings]:
        kind = kind_of(kind_name)
        generated = {
            name: before[name]
            for name in kind.generated
            if before is not None and name in before and settings.get(name) != ""
        }
        chosen = {name: value for name, value in settings.items() if name not in kind.generated}
        try:
            checked = kind.settings.model_validate({**chosen, **generated})
            kept = kind.secrets.model_validate({name: value for name, value in secrets.items() if value})
        except pydantic.ValidationError as error:
            raise ValidationError(_in_words(error)) from None  # its text would quote secrets
        kind.check(checked, self._settings)
        return checked, kept

    def _seal(self, secrets: KindSettings, source_id: UUID) -> bytes | None:
        plain = {
            name: value.get_secret_value() if isinstance(value, SecretStr) else value
            for name, value in secrets
            if value is not None
        }
        return self._box.seal(json.dumps(plain).encode(), owner=source_id) if plain else None


def _given(secrets: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The secrets that somebody typed: an empty field keeps the one of before, null removes it."""
    return {name: value for name, value in secrets.items() if value != ""}


async def _tried(connection: Connection) -> str:
    try:
        async with asyncio.timeout(_TEST_S):
            return await connection.test()
    except TimeoutError as error:
        raise TimeLimitError(f"no answer within {_TEST_S:.0f} seconds") from error


def _check_targets(row: SourceRow, settings: KindSettings, kept: Collection[str]) -> None:
    """Raises ValidationError if secrets that are kept would be sent elsewhere, or less safely, than before.

    Nobody is shown a secret again; whoever may change a source must not get it by a server of their own.
    """
    chosen = settings.model_dump(mode="json")
    for name in kind_of(row.kind).secret_targets:
        if kept and chosen.get(name) != row.settings.get(name):
            raise ValidationError(
                f"{name}: enter the secrets again; those kept are not sent to another place"
            )


async def _end_with_key(conn: Conn, source_id: UUID, api_key_id: UUID | None) -> None:
    """Have a source end with the API key that changes it. Raises ValidationError for a key with an end."""
    await api_keys.check_lasting(conn, api_key_id, "a change of a source")
    if api_key_id is not None:
        await doc_sources.bind_to_key(conn, source_id, api_key_id)


async def _existing(conn: Conn, source_id: UUID) -> SourceRow:
    row = await doc_sources.get(conn, source_id)
    assert row is not None, "it was written in this transaction"
    return row


def _topic(source_id: UUID) -> str:
    """The wake-ups of a source."""
    return f"source {source_id}"


def _checked_name(name: str) -> str:
    name = " ".join(name.split())
    if not name or len(name) > _LONGEST_NAME:
        raise ValidationError(f"a source needs a name of up to {_LONGEST_NAME} characters")
    return name


def _in_words(error: pydantic.ValidationError) -> str:
    """The faults of settings, without the values."""
    faults: list[Any] = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(
        f"{'.'.join(map(str, fault['loc'])) or 'settings'}:"
        f" {_REASONS.get(fault['type']) or fault['msg'].removeprefix('Value error, ')}"
        for fault in faults
    )


_REASONS = {
    "extra_forbidden": "this kind of source has no such setting or secret",
    "missing": "this is needed",
    "tuple_type": 'this is a list, such as ["a", "b"]',
    "list_type": 'this is a list, such as ["a", "b"]',
}
"""Our words for errors of validation, by their type."""
