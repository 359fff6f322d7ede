"""`docmill extract`: one file by one schema, as JSON; and the schema that an option names."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel

from docmill.api import Extracted, extract
from docmill.cli.console import stdout
from docmill.errors import MisconfiguredError
from docmill.model.result import Schema
from docmill.schemas.registry import REGISTRY
from docmill.schemas.schema_files import labels_in, schema_in
from docmill.schemas.user_schemas import nearest, schema_of
from docmill.service.config.sources import are_given

if TYPE_CHECKING:
    from docmill.service.config.user_schemas import OwnSchemas


def extract_file(
    file: Path,
    schema: str,
    *,
    model: Path | None,
    labels: Path | None,
    config: Path | None,
    passwords: tuple[str, ...],
) -> int:
    """Read the file and print what it says; the exit code."""
    wanted = schema_called(schema, labels, config)
    extracted = extract(file, wanted, model=model or model_of(schema, config), passwords=passwords)
    stdout.print(json.dumps(_content(extracted), indent=2, ensure_ascii=False), markup=False)
    return 0


def _content(extracted: Extracted[BaseModel]) -> dict[str, object]:
    return {
        "data": extracted.data.model_dump(mode="json"),
        "evidence": {path: proof.model_dump(mode="json") for path, proof in extracted.evidence.items()},
        "verdict": {"passed": extracted.verdict.passed, **extracted.verdict.model_dump(mode="json")},
    }


def schema_called(name: str, labels: Path | None = None, config: Path | None = None) -> Schema:
    """Load a schema: the document type of this name, the settings' schema, or a file, in this order.

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
    """Return the trained model of the settings' schema of this name. Raises MisconfiguredError."""
    own = _own(config)
    return own.models().get(name) if own is not None and name in own.named else None


def _own(config: Path | None) -> "OwnSchemas | None":
    if not are_given(config):
        return None
    from docmill.service.config.settings import Settings  # noqa: PLC0415  only the service's extra brings it

    return Settings.load(config).own
