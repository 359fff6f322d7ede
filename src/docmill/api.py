"""A user's own schema, read from one file: the shortest way to typed data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar, cast, overload

from pydantic import BaseModel

from docmill.batch.in_memory import MemoryExporter, MemoryJournal
from docmill.errors import UnsupportedFileTypeError
from docmill.model.result import Evidence, Result, Schema, Verdict
from docmill.pipeline import process
from docmill.ports import Ref
from docmill.reading.files.options import ReadingOptions
from docmill.schemas.user_schemas import schema_of, words_of
from docmill.understanding.user_schemas.learned import model_in
from docmill.wiring import READING, offline_steps, reader_of, reading_pool, waited_for

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class Extracted(Generic[Model]):
    """What a file says.

    data: of the model that was asked for; a value that the file does not say is null. evidence: field path
    (`seller.name`, `lines[0].net_amount`) to where the value was read. result: everything else.
    """

    data: Model
    evidence: dict[str, Evidence]
    verdict: Verdict
    result: Result


@overload
def extract(
    source: Path | str,
    schema: type[Model],
    *,
    labels: Mapping[str, Sequence[str]] | None = None,
    model: Path | str | None = None,
    passwords: Sequence[str] = (),
) -> Extracted[Model]: ...


@overload
def extract(
    source: Path | str,
    schema: Mapping[str, Any] | Schema | str,
    *,
    labels: Mapping[str, Sequence[str]] | None = None,
    model: Path | str | None = None,
    passwords: Sequence[str] = (),
) -> Extracted[BaseModel]: ...


def extract(
    source: Path | str,
    schema: type[BaseModel] | Mapping[str, Any] | Schema | str,
    *,
    labels: Mapping[str, Sequence[str]] | None = None,
    model: Path | str | None = None,
    passwords: Sequence[str] = (),
) -> Extracted[Any]:
    """What the file says of the values that the schema asks for, each with its place on the page.

    schema: a Pydantic model, a JSON Schema of an object, or the name of a type that docmill knows. labels:
    words that stand beside a field's value, by its path. model: a file of `docmill learn`. passwords: to try
    if the file is protected.
    Raises DocmillError; MisconfiguredError if the schema is none, UnsupportedFileTypeError for a file that
    cannot be read or that only holds others.
    """
    call = aextract(source, cast("Any", schema), labels=labels, model=model, passwords=passwords)
    return waited_for(call, instead="aextract")


@overload
async def aextract(
    source: Path | str,
    schema: type[Model],
    *,
    labels: Mapping[str, Sequence[str]] | None = None,
    model: Path | str | None = None,
    passwords: Sequence[str] = (),
) -> Extracted[Model]: ...


@overload
async def aextract(
    source: Path | str,
    schema: Mapping[str, Any] | Schema | str,
    *,
    labels: Mapping[str, Sequence[str]] | None = None,
    model: Path | str | None = None,
    passwords: Sequence[str] = (),
) -> Extracted[BaseModel]: ...


async def aextract(
    source: Path | str,
    schema: type[BaseModel] | Mapping[str, Any] | Schema | str,
    *,
    labels: Mapping[str, Sequence[str]] | None = None,
    model: Path | str | None = None,
    passwords: Sequence[str] = (),
) -> Extracted[Any]:
    """`extract` for code within an event loop, such as a notebook."""
    wanted = schema_of(schema, labels={path: words_of(words) for path, words in (labels or {}).items()})
    learned = None if model is None else model_in(Path(model))
    reading = replace(READING, passwords=tuple(passwords))
    result = await _processed(Path(source), wanted, reading, learned)
    if result.extraction is None:
        reason = result.refusal or f"{str(source)!r} holds several documents; take out the one to read"
        raise UnsupportedFileTypeError(reason, media_type=result.media_type)
    found = result.extraction
    return Extracted(cast("Any", found.data), found.evidence, result.verdict or Verdict(), result)


async def _processed(path: Path, schema: Schema, reading: ReadingOptions, model: str | None) -> Result:
    reader = reader_of(path)
    models = {} if model is None else {schema.name: model}
    async with reading_pool(1) as pool:
        steps = offline_steps(
            pool, reader=reader, exporter=MemoryExporter(), reading=reading, schema=schema, models=models
        )
        return await process(Ref(path.name, path.name), steps, MemoryJournal())
