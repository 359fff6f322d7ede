"""docmill for programs: read one file, by its document type or by a schema of yours."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast, overload

from pydantic import BaseModel

from docmill import matching
from docmill.batch.folder import FolderReader
from docmill.batch.in_memory import MemoryExporter, MemoryJournal
from docmill.errors import MisconfiguredError, UnsupportedFileTypeError
from docmill.matching import records_of
from docmill.matching.outcome import Matching
from docmill.model.result import Evidence, Result, Schema, Suggestion, Verdict
from docmill.pipeline import DocumentIO, process
from docmill.ports import Ref
from docmill.schemas.registry import REGISTRY
from docmill.schemas.user_schemas import nearest, schema_of, words_of
from docmill.understanding.user_schemas.schema_model import model_in
from docmill.wiring import NO_SCHEMA_MODELS, READING, reading_pool, steps_for

if TYPE_CHECKING:
    from docmill.matching.match_record import MatchRecord

Model = TypeVar("Model", bound=BaseModel)
_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Extracted(Generic[Model]):
    """The values of a file.

    data: an instance of the requested model; a value that is not in the file is null. evidence: field path
    (`seller.name`, `lines[0].net_amount`) to where the value was read. suggestions: of fields that are null,
    values that are believed too little, by path. result: everything else.
    """

    data: Model
    evidence: dict[str, Evidence]
    suggestions: dict[str, tuple[Suggestion, ...]]
    verdict: Verdict
    result: Result


def _synchronous(
    function: Callable[_Arguments, Coroutine[Any, Any, _Result]],
) -> Callable[_Arguments, _Result]:
    """Wrap a coroutine function in a blocking one; in a running event loop it raises MisconfiguredError."""

    @wraps(function)
    def wait(*args: _Arguments.args, **options: _Arguments.kwargs) -> _Result:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(function(*args, **options))
        raise MisconfiguredError(
            "an event loop is running here, as in a notebook; "
            f"write: await docmill.{getattr(function, '__name__', 'process')}(…)"
        )

    wait.__name__ = wait.__qualname__ = wait.__name__.removeprefix("a")
    return wait


async def aprocess_file(
    path: Path | str, *, document_type: str | None = None, passwords: Sequence[str] = ()
) -> Result:
    """Process one file through all steps, in a child process, without any remote service.

    document_type: one that docmill knows, where you know it; else it is recognised. passwords: to try if the
    file is protected. For many files, keep a pool: see `reading_pool`, `steps_for`
    and `process`. Raises DocmillError; MisconfiguredError for an unknown type.
    """
    if document_type is not None and document_type not in REGISTRY:
        raise MisconfiguredError(f"there is no type {document_type!r}{nearest(document_type, REGISTRY)}")
    return await _process(Path(path), passwords, document_type=document_type)


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
    """Extract the fields of a schema from a file, each with its place on the page.

    schema: a Pydantic model, a JSON Schema of an object, or the name of a type that docmill knows. labels:
    words that stand beside a field's value, by its path. model: a file written by `docmill learn`. passwords:
    to try if the file is protected.
    Raises DocmillError; MisconfiguredError if the schema is not valid, UnsupportedFileTypeError if the file
    cannot be read or is only a container of other documents.
    """
    chosen_schema = schema_of(
        schema, labels={path: words_of(words) for path, words in (labels or {}).items()}
    )
    schema_models = NO_SCHEMA_MODELS if model is None else {chosen_schema.name: model_in(Path(model))}
    result = await _process(Path(source), passwords, chosen_schema, schema_models)
    if result.extraction is None:
        reason = result.refusal or f"{str(source)!r} holds several documents; take out the one to read"
        raise UnsupportedFileTypeError(reason, media_type=result.media_type)
    extraction = result.extraction
    return Extracted(
        data=cast("Any", extraction.data),
        evidence=extraction.evidence,
        suggestions=extraction.suggestions,
        verdict=result.verdict or Verdict(),
        result=result,
    )


def match(
    documents: Mapping[str, Result | Extracted[Any]],
    *,
    confirmed: Iterable[tuple[str, str]] = (),
    declined: Iterable[tuple[str, str]] = (),
    aliases: Iterable[tuple[str, str]] = (),
) -> Matching:
    """Link the documents that belong together, by what was extracted from them; nothing is read or sent.

    documents: results of `process_file`, or of `extract` with a built-in type, by a name that is used in the
    result. Those of types that cannot be matched are passed over. The third transaction of a bank statement
    `may.xml` is `may.xml#3`. confirmed, declined: pairs of these names that a person has linked or parted.
    aliases: pairs of names that are one party. Raises DocumentError for decisions about what is not there.
    """
    records: list[MatchRecord] = []
    for name, document in documents.items():
        result = document.result if isinstance(document, Extracted) else document
        data = (
            document.data if isinstance(document, Extracted) else result.extraction and result.extraction.data
        )
        if data is not None:
            text = result.document.text if result.document else ""
            kind = result.classification.document_type
            records.extend(records_of(name, kind, data.model_dump(mode="json"), text))
    return matching.match(records, confirmed=confirmed, declined=declined, aliases=aliases)


process_file = _synchronous(aprocess_file)
extract = _synchronous(aextract)


async def _process(
    path: Path,
    passwords: Sequence[str],
    schema: Schema | None = None,
    schema_models: Mapping[str, str] = NO_SCHEMA_MODELS,
    document_type: str | None = None,
) -> Result:
    io = DocumentIO(_reader_of(path), MemoryExporter(), MemoryJournal(), document_type=document_type)
    async with reading_pool(1) as pool:
        steps = steps_for(
            pool,
            reading=replace(READING, passwords=tuple(passwords)),
            schema=schema,
            schema_models=schema_models,
        )
        return await process(Ref(path.name, path.name), steps, io)


def _reader_of(path: Path) -> FolderReader:
    if path.is_dir():
        raise MisconfiguredError(
            f"{str(path)!r} is a folder; give one file, or use `docmill run` for all of it"
        )
    if not path.exists():
        raise MisconfiguredError(f"there is no file {str(path)!r}; give one that exists")
    return FolderReader(path)
