"""`docmill learn --reviewed`: trains the model of a user's own schema on the vault's reviewed documents."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from docmill.cli.console import FAILED, counted, print_still_wrong, put, stdout
from docmill.cli.vault.access import existing_service, load_settings
from docmill.errors import CorruptError, MisconfiguredError
from docmill.model.paths import value_at
from docmill.model.result import Schema
from docmill.schemas.registry import REGISTRY
from docmill.service.config.settings import Settings
from docmill.service.review.corrections import MOST_DOCUMENTS
from docmill.service.storage.blobs import NewerTranscriptionError, load_transcription
from docmill.service.store import reviews
from docmill.understanding.corrections.counterparties import identifiers
from docmill.understanding.corrections.endings import Endings
from docmill.understanding.corrections.evaluate import (
    HeldOutFigures,
    ReviewedExample,
    compare_models,
    retrain,
)
from docmill.understanding.corrections.fit import values_by_path
from docmill.understanding.offline import make_judged_example
from docmill.understanding.user_schemas.schema_model import SchemaModel, dumps, loads


@dataclass(frozen=True, slots=True)
class RelearnOptions:
    """Arguments of `docmill learn --reviewed`. out: None for the model that the settings name."""

    schema: str
    out: Path | None
    config: Path | None
    data_dir: Path | None
    dry_run: bool
    tenant: str | None = None


def relearn(options: RelearnOptions) -> int:
    """Train on the reviewed documents, compare with the model in use, and replace it; the exit code."""
    settings = load_settings(options.config, options.data_dir, tenant=options.tenant)
    schema, types = _schema_and_types(options.schema, settings)
    place = options.out or settings.own.models().get(options.schema)
    if place is None:
        raise MisconfiguredError(
            f"schemas.{options.schema}.model is not set; set it, or say with --out where the model goes"
        )
    current = SchemaModel(schema.name)
    if place.exists():
        try:
            current = loads(place.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise MisconfiguredError(f"cannot read the model {str(place)!r}") from error
    endings = Endings(schema)
    examples = asyncio.run(_load_examples(settings, endings, types))
    if not examples:
        stdout.print(f"nobody has reviewed a document of {', '.join(types)} yet; nothing was written")
        return FAILED
    comparison = compare_models(current, examples)
    values = counted(comparison.values, "known value")
    stdout.print(f"{values} of {counted(comparison.documents, 'reviewed document')},")
    stdout.print(f"each of {comparison.groups} counterparties and layouts left out in turn; read right")
    stdout.print(f"  with nothing learned: {comparison.untaught}")
    if current.examples:
        stdout.print(f"  by the model in use: {comparison.before}")
    stdout.print(f"  by the new model: {comparison.after}")
    model = retrain(current, examples)
    wrong = HeldOutFigures(model.held_out).still_wrong
    print_still_wrong({path: (field.corrected, field.values) for path, field in wrong.items()})
    for disagreement in endings.disagreements():
        stdout.print(disagreement.message, markup=False)
    if not comparison.is_better:
        result = "the model in use stays" if current.examples else "none is written"
        stdout.print(f"the new model is no better: {result}")
        return FAILED
    if options.dry_run:
        stdout.print("a dry run: nothing was written")
        return 0
    put(place, dumps(model))
    stdout.print(f"model: {place}", markup=False)
    return 0


def _schema_and_types(name: str, settings: Settings) -> tuple[Schema, tuple[str, ...]]:
    """Return a schema of the settings, and the types of documents that are read by it.

    A document for which a person chose the schema has its name as type.
    """
    if name in REGISTRY:
        raise MisconfiguredError(
            f"{name!r} is a type that docmill knows: corrections of it are used at once, without training;"
            " --reviewed is for a schema of the settings, [schemas.NAME]"
        )
    schema = settings.own.named.get(name)
    if schema is None:
        raise MisconfiguredError(f"the settings have no schemas.{name}")
    return schema, (*settings.schemas[name].types, name)


async def _load_examples(settings: Settings, endings: Endings, types: Sequence[str]) -> list[ReviewedExample]:
    """Load the reviewed documents whose text can still be read, the oldest first, type by type."""
    examples: list[ReviewedExample] = []
    async with existing_service(settings) as service:
        for document_type in types:
            async with service.database.tenant(service.default_tenant_id) as conn:
                rows = await reviews.reviewed(conn, document_type, limit=MOST_DOCUMENTS)
            for row in reversed(rows):
                try:
                    document = await load_transcription(service.blobs, row.transcription_file_path)
                except (CorruptError, NewerTranscriptionError):
                    continue
                values: dict[str, object] = {
                    path: value_at(row.data, path) for path in row.paths if "[" not in path
                }
                if row.is_settled:  # nothing is left to review, so the values that nobody reviewed are right
                    values = {**values_by_path(row.data), **values}
                example = make_judged_example(document, endings.schema, values)
                endings.add(document, values)
                examples.append(ReviewedExample(example, identifiers(document)))
    return examples
