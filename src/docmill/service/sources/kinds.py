"""The parts of which each kind of source consists."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from docmill.service.config.settings import Settings
from docmill.service.sources.authorization import PermissionServer
from docmill.service.sources.item_intake import ItemIntake
from docmill.service.store.doc_sources import SourceRow

RARELY: dict[str, JsonValue] = {"rarely_needed": True}
"""The `json_schema_extra` of settings that forms show only to those who look for more."""


class KindSettings(BaseModel):
    """The base of the settings, and of the secrets, of a kind: unknown names are errors.

    Secrets are fields of the type SecretStr.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")


class SourceLimits(BaseModel):
    """Limits of a source, which its settings have under `limits`; None: that of the installation alone."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    documents_per_day: int | None = Field(
        default=None, ge=1, description="Within any 24 hours; others wait. Empty for no limit."
    )
    per_second: float | None = Field(
        default=None, gt=0, description="On average; others wait. Empty for the limit of the installation."
    )
    file_mb: float | None = Field(
        default=None, gt=0, description="A larger one is refused. Empty for the limit of the installation."
    )

    def most_bytes(self, of_installation: int) -> int:
        """The size of the largest item that is taken."""
        return of_installation if self.file_mb is None else min(of_installation, round(self.file_mb * 1e6))


class LimitedSettings(KindSettings):
    """Settings of a kind, with the limits that every source has."""

    limits: SourceLimits = SourceLimits()


class NoSecrets(KindSettings):
    """Of a kind that has none."""


async def _keep_no_secrets(_: object) -> None:
    """Of settings that are only tried."""


@dataclass(frozen=True, slots=True)
class OpenedSource:
    """A source with its settings and secrets, as its kind knows them.

    name: empty for settings that are only tried; what docmill generates for them, such as an address, is not
    what the source will get. position: as it was kept last. keep_secrets: keeps secrets that the other side
    has renewed; those that a person has changed meanwhile stay.
    """

    id: UUID
    tenant_id: UUID
    name: str
    settings: Any
    secrets: Any = field(repr=False)
    position: JsonValue = None
    keep_secrets: Callable[[Any], Awaitable[None]] = _keep_no_secrets


class Connection(Protocol):
    """A source in use."""

    async def test(self) -> str:
        """Try it without taking anything; a sentence about what was found.

        Raises SetupError for what a person must change, TransientError for what may pass.
        """
        ...

    async def watch(self, intake: ItemIntake) -> None:
        """Take what is there and what arrives, until cancelled.

        Raises SetupError, or TransientError if the connection is lost: it is watched again after a pause
        then. An item that cannot be taken is refused, with a reason, and the others are taken.
        """
        ...


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of source. open: gives a connection, and connects to nothing yet.

    is_watched: False where the other side comes to us. takes_all: without a position, it takes all that is
    there, and not only what comes from then on. check: raises SetupError or ValidationError for settings
    that cannot work in this installation. new_secrets: makes those that docmill makes itself, such as the
    one with which a program signs; it is given the present ones. generated: settings that docmill makes, by
    their defaults, when a source is made, and that nobody chooses. address: of a source to which others send,
    for people to see; None where there is none. secret_targets: settings that say where secrets are sent, and
    how safely; after a change of one, secrets have to be entered again. permission_server: who gives the
    permission to read a mailbox; None where none is needed.
    """

    name: str
    settings: type[LimitedSettings]
    open: Callable[[OpenedSource, Settings], Connection]
    secrets: type[KindSettings] = NoSecrets
    is_watched: bool = True
    takes_all: bool = True
    check: Callable[[Any, Settings], None] = lambda _, __: None
    generated: tuple[str, ...] = ()
    address: Callable[[SourceRow, Settings], str | None] = lambda _, __: None
    new_secrets: Callable[[Mapping[str, Any]], Mapping[str, str]] | None = None
    secret_targets: tuple[str, ...] = ()
    permission_server: Callable[[OpenedSource], PermissionServer | None] = lambda _: None
