"""`docmill extract`: reads one file by one schema, and loads the schema that an option names."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from docmill.api.one_file import extract
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
    name: str,
    *,
    model: Path | None,
    labels: Path | None,
    config: Path | None,
    passwords: tuple[str, ...],
) -> int:
    """Read the file by the schema of this name or file, and print its values; the exit code."""
    schema, settings_schemas = schema_called(name, labels, config), _settings_schemas(config)
    if model is None and settings_schemas is not None and name in settings_schemas.named:
        model = settings_schemas.models().get(name)
    extracted = extract(file, schema, model=model, passwords=passwords)
    content = {
        "data": extracted.data.model_dump(mode="json"),
        "evidence": {path: proof.model_dump(mode="json") for path, proof in extracted.evidence.items()},
        "suggestions": extracted.result.extraction.suggestions_as_json if extracted.result.extraction else {},
        "verdict": {"passed": extracted.verdict.passed, **extracted.verdict.model_dump(mode="json")},
    }
    stdout.print(json.dumps(content, indent=2, ensure_ascii=False), markup=False)
    return 0


def schema_called(name: str, labels: Path | None = None, config: Path | None = None) -> Schema:
    """Load a schema: the document type of this name, the settings' schema, or a file, in this order.

    labels: a file with words beside each field's value. Raises MisconfiguredError.
    """
    settings_schemas = _settings_schemas(config)
    named = {**(settings_schemas.named if settings_schemas else {}), **REGISTRY}
    schema = named.get(name)
    if schema is None and not (Path(name).suffix or Path(name).exists()):
        raise MisconfiguredError(f"there is no schema {name!r}, and no such file{nearest(name, named)}")
    if schema is None:
        return schema_in(name, labels)
    return schema_of(schema, labels=labels_in(labels)) if labels else schema


def _settings_schemas(config: Path | None) -> "OwnSchemas | None":
    if not are_given(config):
        return None
    from docmill.service.config.settings import Settings  # noqa: PLC0415  only the service's extra brings it

    return Settings.load(config).own
