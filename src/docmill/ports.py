"""The interfaces that the pipeline calls. Each promises which errors of `docmill.errors` it raises."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from pydantic import JsonValue

from docmill.model.corrections import Corrections
from docmill.model.document import Document, Part
from docmill.model.result import Classification, Extraction, Result, Schema, Verdict
from docmill.model.statement_columns import StatementColumns


@dataclass(frozen=True, slots=True)
class Ref:
    """A document to be processed. key: what its reader finds it by; name: the file name a person knows.

    metadata: what its lister knows about it, kept with its state. version: changes whenever the content does,
    such as an ETag, or size and time of the last change; empty if the lister does not know.
    """

    key: str
    name: str
    metadata: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue], compare=False)
    version: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Original:
    """The bytes of a document as a local file, read-only. content_hash: SHA-256, lower-case hexadecimal.

    statement_columns: what is known of banks' tables, if it is one.
    """

    path: Path
    name: str
    content_hash: str
    statement_columns: tuple[StatementColumns, ...] = ()


class Reader(Protocol):
    """Fetches originals."""

    async def read(self, ref: Ref) -> Original:
        """The original, complete and on this machine.

        Raises CorruptError if it is gone or is not what was stored, TooLargeError above the size limit,
        MisconfiguredError without permission, NetworkError or ServerError if the store cannot be reached.
        """
        ...


class PageJournal(Protocol):
    """Remembers recognised pages of one document, so that a later attempt recognises only the rest."""

    async def opened(self, media_type: str, page_count: int | None) -> None:
        """The file is of this type; page_count: None for a format without pages."""
        ...

    def allow_time_for(self, page_count: int) -> None:
        """Extend the time limit of the document for this many pages."""
        ...

    def entries(self) -> AsyncGenerator[bytes]:
        """The pages kept by this or an earlier attempt under the same settings.

        Raises NetworkError or ServerError if the store cannot be reached.
        """
        ...

    async def put(self, first: int, pages: bytes) -> None:
        """Remember some pages from number `first` on; a later entry of the same number is dropped."""
        ...

    async def keep_pictures(self, pdf: bytes) -> None:
        """Keep the preprocessed pictures in which pages were read, as a PDF.

        Raises NetworkError or ServerError if the store cannot be reached.
        """
        ...


class Converter(Protocol):
    """Reads originals: pages, words, boxes."""

    async def convert(self, original: Original, pages: PageJournal | None = None) -> Document:
        """The document's words and where they stand. A page that cannot be read says so in its `problem`.

        pages: pages that it remembers are not recognised again.
        Raises UnsupportedFileTypeError, EncryptedError, CorruptError, TooLargeError, TimeLimitError or
        CrashedError.
        """
        ...


@dataclass(frozen=True, slots=True)
class PartFile:
    """A part taken out of its whole, as a local file; without one, the part's `problem` says why."""

    part: Part
    path: Path | None


class Unpacker(Protocol):
    """Takes the documents out of a document that holds some."""

    async def unpack(self, original: Original, document: Document, folder: Path) -> list[PartFile]:
        """Every one of `document.parts`, in their order, each in a file of its own in `folder`.

        The same original gives the same files each time. Raises EncryptedError, CorruptError, TooLargeError,
        ServerError, TimeLimitError or CrashedError.
        """
        ...


class PartsReceiver(Protocol):
    """Has parts processed as documents of their own."""

    async def folder(self, ref: Ref) -> Path:
        """An empty folder for the files of this document's parts.

        Raises TooLargeError if the document stands in others so deep that its parts are not taken.
        """
        ...

    async def receive(self, ref: Ref, parts: Sequence[PartFile]) -> list[Part]:
        """Take the parts of a document in; doing it twice is the same as once.

        The parts as they are known from now on: one that is not taken says why. Raises NetworkError or
        ServerError if they could not be kept.
        """
        ...


class Understood(NamedTuple):
    """The type of a document, and its fields by the schema of that type; None if they were not read."""

    classification: Classification
    extraction: Extraction | None = None


class Understander(Protocol):
    """Says what a document is, and what it says."""

    async def understand(
        self,
        document: Document,
        original: Original | None = None,
        *,
        schemas: Mapping[str, Schema],
        tags: Sequence[str] = (),
    ) -> Understood:
        """Type, title and the like, a null title if it cannot tell; fields. May raise any TransientError.

        original: what the document was read from, for whoever looks at its pages. schemas: what to read, by
        document type; of types without one, that of `other`. tags: in use where the document belongs, the
        most used first.
        """
        ...


class CorrectionSource(Protocol):
    """Finds what people corrected on earlier documents."""

    async def find(self, document: Document, schema: Schema) -> Corrections:
        """The corrections that bear on this document; empty where there are none.

        Raises NetworkError or ServerError if it cannot be looked up.
        """
        ...


class Extractor(Protocol):
    """Takes the fields out of a document."""

    async def extract(
        self, document: Document, schema: Schema, original: Original | None = None
    ) -> Extraction:
        """Fields of the schema with their evidence; missing is null, never invented.

        original: what the document was read from, for whoever looks at its pages once more.
        May raise any TransientError, ContextTooLongError or AiContentBlockedError.
        """
        ...


class Corrector(Protocol):
    """Puts right what was read, as people did before."""

    async def correct(
        self, document: Document, schema: Schema, read: Extraction, corrections: Corrections
    ) -> Extraction:
        """The fields, those that people corrected on documents like this one as they did.

        May raise any TransientError.
        """
        ...


class Gate(Protocol):
    """Decides by rule whether to believe an extraction."""

    def judge(self, document: Document, extraction: Extraction, schema: Schema) -> Verdict:
        """Every check that failed. schema: of the extraction. Raises nothing."""
        ...


class Judged(NamedTuple):
    """An extraction and the verdict of the gate on it."""

    extraction: Extraction
    verdict: Verdict


class Router(Protocol):
    """Has the gate judge an extraction, and the fields that it doubts read again."""

    async def judge(
        self, first: Extraction, document: Document, schema: Schema, original: Original | None = None
    ) -> Judged:
        """The best extraction that could be had, and its verdict.

        original: what the document was read from, for whoever looks at its pages once more. Raises nothing
        but a cancellation: what was read stays, and `model_error` says why there may be more later.
        """
        ...


class Exporter(Protocol):
    """Takes results to where they are wanted."""

    async def export(self, ref: Ref, result: Result) -> None:
        """Keep the result; doing it twice is the same as once.

        Raises NetworkError or ServerError if the target cannot be reached, MisconfiguredError without
        permission.
        """
        ...


class Journal(Protocol):
    """Remembers the result of finished steps of one document, so that a retry need not repeat them."""

    async def get(self, step: str) -> bytes | None:
        """The kept result of this step; None if there is none."""
        ...

    async def put(self, step: str, result: bytes) -> None:
        """Remember `result`. The first result of a step stays; a later one is dropped.

        Raises NetworkError or ServerError if the store cannot be reached.
        """
        ...

    async def replace(self, step: str, result: bytes) -> None:
        """Remember `result` in place of what was put for this step, which cannot be read. Raises as `put`."""
        ...

    async def entries(self, folder: str) -> list[str]:
        """The steps below `folder` of which something is remembered, sorted: `folder/one`, `folder/two`.

        Raises NetworkError or ServerError if the store cannot be reached.
        """
        ...

    async def remove(self, step: str) -> None:
        """Forget a step. Raises NetworkError or ServerError if the store cannot be reached."""
        ...


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings on a document that is still being processed; None where there is nothing yet.

    extraction, verdict: the results so far, while a model can still be asked for more.
    """

    media_type: str | None = None
    page_count: int | None = None
    document: Document | None = None
    classification: Classification | None = None
    extraction: Extraction | None = None
    verdict: Verdict | None = None


class Observer(Protocol):
    """Is told how far a document has come."""

    async def step_started(self, step: str) -> None:
        """The pipeline begins `step`."""
        ...

    def step_ended(self, step: str, *, seconds: float, error: BaseException | None) -> None:
        """`step` is over. error: what it raised, None if it came to a result. Does not block."""
        ...

    async def record(self, findings: Findings) -> None:
        """This is known now, whatever becomes of the rest. Raises nothing."""
        ...


class PageRenderer(Protocol):
    """Draws pages, outside of the event loop."""

    async def render(
        self, original: Path, *, page_number: int, width_px: int, rotation: int | None = None
    ) -> bytes:
        """Page `page_number` as WebP, `width_px` wide. rotation: `Page.rotation` if it has been read.

        Raises UnsupportedFileTypeError for a type without pictures, ValidationError for a page that does not
        exist, EncryptedError, CorruptError, TooLargeError, TimeLimitError or CrashedError.
        """
        ...
