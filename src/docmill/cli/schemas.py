"""Which schema a person means on the command line."""

from pathlib import Path
from typing import TYPE_CHECKING

from docmill.errors import MisconfiguredError
from docmill.model.result import Schema
from docmill.schemas.registry import REGISTRY
from docmill.schemas.schema_files import labels_in, schema_in
from docmill.schemas.user_schemas import nearest, schema_of
from docmill.service.config.sources import are_given

if TYPE_CHECKING:
    from docmill.service.config.user_schemas import OwnSchemas


def schema_called(name: str, labels: Path | None = None, config: Path | None = None) -> Schema:
    """The type that docmill knows by this name, the settings' schema, or the one in a file, in this order.

    labels: a file with words beside each field's value. Raises MisconfiguredError.
    """
    own = _own(config)
    named = {**(own.named if own else {}), **REGISTRY}
    known = named.get(name)
    if known is None and not (Path(name).suffix or Path(name).exists()):
        raise MisconfiguredError(f"there is no schema {name!r}, and no such file{nearest(name, named)}")
    if known is None:
        return schema_in(name, labels)
    return schema_of(known, labels=labels_in(labels)) if labels else known


def model_of(name: str, config: Path | None = None) -> Path | None:
    """What was learned of the settings' schema of this name. Raises MisconfiguredError."""
    own = _own(config)
    return own.models().get(name) if own is not None and name in own.named else None


def _own(config: Path | None) -> "OwnSchemas | None":
    if not are_given(config):
        return None
    from docmill.service.config.settings import Settings  # noqa: PLC0415  only the service's extra brings it

    return Settings.load(config).own
