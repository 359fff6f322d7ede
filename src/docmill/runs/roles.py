"""The roles of a pipeline of your own. Each is one method, sync or async, and usable alone.

A class needs no base: whatever has the method has the role. A sync method is called in a thread, and in a
process of its own if the class says `runs_in = "process"`; then the component must be picklable. A component
may also have `open(context)`, called before the first document, and `close()`, called after the last one.
"""

from collections.abc import AsyncIterable, Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from pydantic import BaseModel, JsonValue

from docmill.model.document import Document, Usage
from docmill.model.result import Classification, Evidence, Result, Suggestion, Verdict
from docmill.ports import Ref
from docmill.runs.context import Context
from docmill.runs.document_bytes import DocumentBytes

Data = TypeVar("Data", bound=BaseModel)
Data_contra = TypeVar("Data_contra", bound=BaseModel, contravariant=True)
Value = TypeVar("Value")

_NO_DOUBT = Verdict()
_FREE = Usage()

MaybeAwaitable: TypeAlias = Value | Awaitable[Value]
Listed: TypeAlias = Ref | Path | str
Inputs: TypeAlias = Iterable[Listed] | AsyncIterable[Listed]
ReadBytes: TypeAlias = DocumentBytes | bytes | Path


@dataclass(frozen=True)
class ExtractionResult(Generic[Data]):
    """The fields of a document.

    data: an instance of the schema. evidence: field path (`seller.name`, `lines[0].net_amount`) to where the
    value was read. suggestions: of fields that are null, values that are believed too little. verdict: what
    speaks against the data. usage: what models have cost. metadata: of the extractor's own. result: all that
    docmill's own steps found, where they did the work.
    """

    data: Data
    evidence: Mapping[str, Evidence] = field(default_factory=dict[str, Evidence])
    suggestions: Mapping[str, tuple[Suggestion, ...]] = field(
        default_factory=dict[str, tuple[Suggestion, ...]]
    )
    verdict: Verdict = _NO_DOUBT
    usage: Usage = _FREE
    metadata: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    result: Result | None = None


class Lister(Protocol):
    """Names the documents of a run."""

    def list(self, context: Context[Any]) -> MaybeAwaitable[Inputs]:
        """Every document once. Raises MisconfiguredError if the place does not exist."""
        ...


class Reader(Protocol):
    """Fetches the bytes of documents."""

    def read(self, ref: Ref, context: Context[Any]) -> MaybeAwaitable[ReadBytes]:
        """The bytes, or a local file that has them.

        Raises DocumentError for a document that is gone or too large, TransientError if trying again may
        help, SetupError if a person must act.
        """
        ...


class Converter(Protocol):
    """Makes a document of bytes: pages, words, boxes."""

    def convert(self, document_bytes: DocumentBytes, context: Context[Any]) -> MaybeAwaitable[Document]:
        """The document. Raises DocumentError for one that cannot be read, TransientError, SetupError."""
        ...


class Classifier(Protocol):
    """Says what a document is."""

    def classify(self, document: Document, context: Context[Any]) -> MaybeAwaitable[Classification | str]:
        """The classification, or the document type alone. Raises as `Converter.convert`."""
        ...


class Extractor(Protocol[Data]):
    """Takes the fields of a schema out of a document."""

    def extract(
        self, document: Document, schema: type[Data], context: Context[Any]
    ) -> MaybeAwaitable[ExtractionResult[Data] | Data]:
        """The fields; missing is null, never invented. Raises as `Converter.convert`."""
        ...


class Exporter(Protocol[Data]):
    """Takes results to where they are wanted.

    An exporter that has a method `flush()` may collect results in memory until it is called: before the
    state of a document says that it is done, many times a second, after many results or few.
    """

    def export(
        self, document: Document, data: ExtractionResult[Data], context: Context[Any]
    ) -> MaybeAwaitable[None]:
        """Keep the result under `context.document.key`; doing it twice is the same as once.

        Raises TransientError if trying again may help, SetupError if a person must act.
        """
        ...


@dataclass(frozen=True, slots=True)
class Example(Generic[Data]):
    """A document whose values are known.

    expected: an instance of the schema, or the values as JSON, nested as the schema; fields that are not set
    are not judged, and null says that the document has no such value. document_type: if that is known too.
    group: of documents that are alike, such as those of a vendor. source: names the example in reports; the
    key of its reference unless given.
    """

    ref: Ref
    expected: Data | Mapping[str, Any]
    document_type: str | None = None
    group: str | None = None
    source: str | None = None

    @property
    def name(self) -> str:
        """The name of the example in reports."""
        return self.source or self.ref.key


class ExampleLoader(Protocol[Data]):
    """Finds documents whose values are known."""

    def load(self, context: Context[Any]) -> MaybeAwaitable[Iterable[Example[Data]]]:
        """The examples. Raises MisconfiguredError if they cannot be found."""
        ...


@dataclass(frozen=True, slots=True)
class Score:
    """A figure about one document.

    value: higher is better. weight: how much it counts beside other documents, the number of compared values
    for instance; with 0, the document has no such figure. parts: what the figure is made of, by field or
    name. part_weights: as `weight`, of each part; 1 unless given.
    """

    name: str
    value: float
    parts: Mapping[str, float] = field(default_factory=dict[str, float])
    weight: float = 1.0
    part_weights: Mapping[str, float] = field(default_factory=dict[str, float])


class Evaluator(Protocol[Data_contra]):
    """Compares what was extracted with what is true.

    A sync one is called in a thread, never in a process. An evaluator that has a method `prepare(expected)`
    is given the true values of all examples first.
    """

    def evaluate(
        self, expected: Data_contra, extracted: Data_contra | None, context: Context[Any]
    ) -> MaybeAwaitable[Sequence[Score]]:
        """The scores of a document. extracted: None for one that failed.

        Raises TransientError if trying again may help, SetupError if a person must act.
        """
        ...


class EvaluationExporter(Protocol):
    """Takes the figures of an evaluation to where they are wanted."""

    def export_evaluation(self, report: Mapping[str, Any], context: Context[Any]) -> MaybeAwaitable[None]:
        """Keep the report. Raises TransientError, SetupError."""
        ...
