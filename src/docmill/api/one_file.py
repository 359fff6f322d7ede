"""Read one file, by its document type or by a schema of yours."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, TypeAlias, TypeVar, cast, overload

from pydantic import BaseModel

from docmill.api.synchronous import synchronous
from docmill.errors import MisconfiguredError, UnsupportedFileTypeError
from docmill.model.result import Schema, Verdict
from docmill.pipeline import DocumentIO, process
from docmill.ports import Ref
from docmill.presentation.file_result import Extracted, FileResult
from docmill.runs.document_bytes import DocumentBytes
from docmill.runs.folder_files import FolderReader
from docmill.runs.in_memory import MemoryExporter, MemoryJournal
from docmill.schemas.registry import REGISTRY
from docmill.schemas.user_schemas import nearest, schema_of, words_of
from docmill.understanding.user_schemas.schema_model import model_in
from docmill.wiring import NO_SCHEMA_MODELS, READING, reading_pool, steps_for
from docmill.workers.pool import Pool

Model = TypeVar("Model", bound=BaseModel)
FileSource: TypeAlias = Path | str | bytes | IO[bytes]
SchemaSource: TypeAlias = type[BaseModel] | Mapping[str, Any] | Schema | str

_UNNAMED = "document"


async def aprocess_file(
    source: FileSource,
    *,
    name: str | None = None,
    document_type: str | None = None,
    passwords: Sequence[str] = (),
) -> FileResult:
    """Process one file through all steps, in a child process, without any remote service.

    source: a path, the bytes of a file, or an open binary file. name: that of the file, where its bytes are
    given; its ending helps to tell what they are. document_type: one that docmill knows, where you know it;
    else it is recognised. passwords: to try if the file is protected. For many files, see `process_many`.
    A file of a type that is not read is no error: the result says so in `refusal`.
    Raises DocmillError; MisconfiguredError for an unknown type or a path without a file.
    """
    check_type(document_type)
    content = content_of(source, name)
    async with reading_pool(1) as pool:
        return await process_content(content, pool, document_type=document_type, passwords=passwords)


@overload
async def aextract(
    source: FileSource,
    schema: type[Model],
    *,
    name: str | None = None,
    labels: Mapping[str, Sequence[str]] | None = None,
    model: Path | str | None = None,
    passwords: Sequence[str] = (),
) -> Extracted[Model]: ...


@overload
async def aextract(
    source: FileSource,
    schema: Mapping[str, Any] | Schema | str,
    *,
    name: str | None = None,
    labels: Mapping[str, Sequence[str]] | None = None,
    model: Path | str | None = None,
    passwords: Sequence[str] = (),
) -> Extracted[BaseModel]: ...


async def aextract(
    source: FileSource,
    schema: SchemaSource,
    *,
    name: str | None = None,
    labels: Mapping[str, Sequence[str]] | None = None,
    model: Path | str | None = None,
    passwords: Sequence[str] = (),
) -> Extracted[Any]:
    """Extract the fields of a schema from a file, each with its place on the page.

    source, name, passwords: see `process_file`. schema: a Pydantic model, a JSON Schema of an object, or the
    name of a type that docmill knows. labels: words that stand beside a field's value, by its path. model: a
    file written by `docmill learn`.
    Raises DocmillError; MisconfiguredError if the schema is not valid, UnsupportedFileTypeError if the file
    cannot be read or is only a container of other documents.
    """
    chosen_schema = schema_of(
        schema, labels={path: words_of(words) for path, words in (labels or {}).items()}
    )
    schema_models = NO_SCHEMA_MODELS if model is None else {chosen_schema.name: model_in(Path(model))}
    content = content_of(source, name)
    async with reading_pool(1) as pool:
        result = await process_content(
            content, pool, schema=chosen_schema, schema_models=schema_models, passwords=passwords
        )
    return extracted_of(result)


process_file = synchronous(aprocess_file)
extract = synchronous(aextract)


def check_type(document_type: str | None) -> None:
    """Raise MisconfiguredError for a type that docmill does not know."""
    if document_type is not None and document_type not in REGISTRY:
        raise MisconfiguredError(f"there is no type {document_type!r}{nearest(document_type, REGISTRY)}")


def content_of(source: FileSource, name: str | None = None) -> DocumentBytes:
    """The file that was given, under its name. Raises MisconfiguredError for a path without a file."""
    match source:
        case bytes():
            return DocumentBytes(name or _UNNAMED, content=source)
        case str() | Path():
            path = Path(source)
            if path.is_dir():
                raise MisconfiguredError(
                    f"{str(path)!r} is a folder; give one file, or use `docmill.process_many` for all of it"
                )
            if not path.exists():
                raise MisconfiguredError(f"there is no file {str(path)!r}; give one that exists")
            return DocumentBytes(name or path.name, path=path)
        case _ if callable(getattr(source, "read", None)):
            content = cast("object", source.read())
            if not isinstance(content, bytes):
                raise MisconfiguredError('the file is open as text; open it with open(path, "rb")')
            given = getattr(source, "name", None)
            called = Path(given).name if isinstance(given, str) else _UNNAMED
            return DocumentBytes(name or called, content=content)
        case _:
            raise MisconfiguredError(
                f'a {type(source).__name__} is no file; give a path, bytes, or a file opened with "rb"'
            )


async def process_content(
    content: DocumentBytes,
    pool: Pool,
    *,
    schema: Schema | None = None,
    schema_models: Mapping[str, str] = NO_SCHEMA_MODELS,
    document_type: str | None = None,
    passwords: Sequence[str] = (),
) -> FileResult:
    """The result of one file, read in a pool. Raises DocmillError."""
    steps = steps_for(
        pool,
        reading=replace(READING, passwords=tuple(passwords)),
        schema=schema,
        schema_models=schema_models,
    )
    with content.as_file() as original:
        reader = FolderReader(original.path)
        io = DocumentIO(reader, MemoryExporter(), MemoryJournal(), document_type=document_type)
        result = await process(Ref(original.path.name, content.name), steps, io)
    return FileResult.of(result, content, passwords)


def extracted_of(result: FileResult) -> Extracted[Any]:
    """The values of a result. Raises UnsupportedFileTypeError if it has none."""
    extraction = result.extraction
    if extraction is None:
        reason = result.refusal or f"{result.name!r} holds several documents; take out the one to read"
        raise UnsupportedFileTypeError(reason, media_type=result.media_type)
    return Extracted(
        data=cast("Any", extraction.data),
        evidence=extraction.evidence,
        suggestions=extraction.suggestions,
        verdict=result.verdict or Verdict(),
        result=result,
    )
