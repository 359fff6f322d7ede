"""`docmill learn --reviewed`: a model of a user's own schema from what people said in the vault."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from docmill.cli.console import FAILED, counted, put, stdout
from docmill.cli.vault.contents import existing_service, load_settings
from docmill.errors import CorruptError, MisconfiguredError
from docmill.model.paths import value_at
from docmill.model.result import Schema
from docmill.schemas.registry import REGISTRY
from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.review.corrections import MOST_DOCUMENTS
from docmill.service.storage.blobs import NewerTranscriptionError, load_transcription
from docmill.service.store import reviews
from docmill.service.store.reviews import ReviewedRow
from docmill.understanding.corrections.counterparties import identifiers
from docmill.understanding.corrections.evaluate import (
    Comparison,
    ReviewedExample,
    compare_models,
    retrain,
)
from docmill.understanding.corrections.fit import make_example, values_by_path
from docmill.understanding.user_schemas.learned import SchemaModel, dumps, loads


@dataclass(frozen=True, slots=True)
class RelearnOptions:
    """Arguments of `docmill learn --reviewed`. out: None for the model that the settings name."""

    schema: str
    out: Path | None
    config: Path | None
    data_dir: Path | None
    dry_run: bool


def relearn(options: RelearnOptions) -> int:
    """Read what people said, learn, compare and replace; the exit code."""
    settings = load_settings(options.config, options.data_dir)
    schema, types = _asked_for(options.schema, settings)
    place = options.out or settings.own.models().get(options.schema)
    if place is None:
        raise MisconfiguredError(
            f"schemas.{options.schema}.model is not set; set it, or say with --out where the model goes"
        )
    before = _in_use(place, schema)
    examples = asyncio.run(_examples(settings, schema, types))
    if not examples:
        stdout.print(f"nobody has reviewed a document of {', '.join(types)} yet; nothing was written")
        return FAILED
    comparison = compare_models(before, examples)
    _tell(comparison, has_before=bool(before.examples))
    if not comparison.is_better:
        kept = "the old one stays" if before.examples else "none is written"
        stdout.print(f"the new model is no better: {kept}")
        return FAILED
    if options.dry_run:
        stdout.print("a dry run: nothing was written")
        return 0
    put(place, dumps(retrain(before, examples)))
    stdout.print(f"model: {place}", markup=False)
    return 0


def _asked_for(name: str, settings: Settings) -> tuple[Schema, tuple[str, ...]]:
    """The schema, and the types of documents that are read by it."""
    if name in REGISTRY:
        raise MisconfiguredError(
            f"{name!r} is a type that docmill knows: what people correct there is heard at once; it needs"
            " no training, and --reviewed is for a schema of the settings, [schemas.NAME]"
        )
    schema = settings.own.named.get(name)
    if schema is None:
        raise MisconfiguredError(f"the settings have no schemas.{name}")
    types = settings.schemas[name].types
    if not types:
        raise MisconfiguredError(f"schemas.{name}.types is empty: the vault reads no document by it")
    return schema, types


def _in_use(place: Path, schema: Schema) -> SchemaModel:
    if not place.exists():
        return SchemaModel(schema.name)
    try:
        return loads(place.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise MisconfiguredError(f"cannot read the model {str(place)!r}") from error


async def _examples(settings: Settings, schema: Schema, types: Sequence[str]) -> list[ReviewedExample]:
    examples: list[ReviewedExample] = []
    async with existing_service(settings) as service:
        for kind in types:
            async with service.database.tenant(service.default_tenant_id) as conn:
                rows = await reviews.reviewed(conn, kind, limit=MOST_DOCUMENTS)
            for row in reversed(rows):
                example = await _example(service, row, schema)
                if example is not None:
                    examples.append(example)
    return examples


async def _example(service: Service, row: ReviewedRow, schema: Schema) -> ReviewedExample | None:
    """The document with what is known of it; None if its text is gone or cannot be read."""
    try:
        document = await load_transcription(service.blobs, row.transcription_file_path)
    except (CorruptError, NewerTranscriptionError):
        return None
    reviewed: Mapping[str, object] = {path: value_at(row.data, path) for path in row.paths if "[" not in path}
    # Where nothing is left to look at, the values that nobody reviewed have passed, too.
    values = {**values_by_path(row.data), **reviewed} if row.is_settled else reviewed
    return ReviewedExample(make_example(document, schema, values), identifiers(document))


def _tell(comparison: Comparison, *, has_before: bool) -> None:
    values = counted(comparison.values, "known value")
    stdout.print(f"{values} of {counted(comparison.documents, 'reviewed document')},")
    stdout.print(f"each of {comparison.groups} counterparties and layouts left out in turn; read right")
    stdout.print(f"  with nothing learned: {comparison.untaught}")
    if has_before:
        stdout.print(f"  by the model in use: {comparison.before}")
    stdout.print(f"  by the new model: {comparison.after}")
