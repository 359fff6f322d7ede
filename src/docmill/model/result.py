"""The result of a document: its type, its values with evidence, the verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from math import floor
from operator import not_
from typing import Any, Literal

from pydantic import BaseModel, Field, InstanceOf, JsonValue, SerializeAsAny

from docmill.errors import DocmillError, SetupError, TransientError
from docmill.model.document import Box, Document, Record, Usage

MatchKind = Literal["exact", "normalised", "computed", "embedded", "coded", "none"]

StepKind = Literal[
    "read",
    "confirmed",
    "cleared",
    "looked_again",
    "asked",
    "failed",
    "not_asked",
    "given_up",
    "not_classified",
]
_MODEL_ASKED = frozenset({"asked", "failed", "given_up"})
TYPE_CHECK = "document_type"
"""The check that fails where a person should say of which type a document is."""
_LISTED = 6
"""Most fields that are named in a sentence."""


class Evidence(Record):
    """The evidence of one value: where it was read.

    match: `exact` the text is the value; `normalised` after reading a date, amount or spacing;
    `computed` from other values; `embedded` it stands in the XML that the document carries, and nowhere
    on its pages; `coded` it stands in a barcode or matrix code, whose box it has, and nowhere in print;
    `none` no place found. confidence: in [0, 1]. reason: why this value, where the document alone does not
    say it: what people confirmed of an earlier one.
    """

    page: int | None
    box: Box | None
    text: str | None
    match: MatchKind
    confidence: float
    reason: str = Field(default="", exclude_if=not_)


def percent_text(confidence: float) -> str:
    """A confidence as people see it: what is possible is never shown as 0 %."""
    percent = percent_of(confidence)
    return f"{percent} %" if percent or not confidence else "< 1 %"


def percent_of(confidence: float) -> int:
    """A confidence in whole percent, rounded down: what is not certain is never shown as 100 %."""
    return floor(round(100 * confidence, 6))  # 100 * 0.29 is less than 29


class Suggestion(Record):
    """A value that is not believed enough to be data, for a person to accept. value: as JSON."""

    value: JsonValue
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Schema:
    """The fields to be read from documents of one kind.

    name: the document type. critical: paths without which the data is of no use to its owner.
    labels: words that stand beside a field's value on the page, by the field's path, beside those we know.
    """

    name: str
    fields: type[BaseModel]
    critical: tuple[str, ...] = ()
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


class Classification(Record):
    """The classification of a document. A null title means that no type was found.

    document_type: a built-in type, or the name of a schema of the user's own. usage: what it cost to
    find out; it is counted with the document and kept nowhere else. model_error: why a model that was to say
    it did not, so that this is what the rules say; a TransientError if it can be asked later. doubt: a
    question about the type to a person, which becomes a failure of the extraction; empty if there is none.
    """

    document_type: str = "other"
    title: str | None = None
    summary: str | None = None
    document_date: date | None = None
    tags: tuple[str, ...] = ()
    language: str | None = None
    confidence: float = 0.0
    usage: Usage = Field(default=Usage(), exclude=True)
    model_error: InstanceOf[DocmillError] | None = Field(default=None, exclude=True)
    doubt: str = Field(default="", exclude=True)


class Failure(Record):
    """A check that did not hold. check: its stable name; fields: the paths it speaks of."""

    check: str
    message: str
    fields: tuple[str, ...] = ()


class StepTaken(Record):
    """One step on the way to an extraction.

    kind: `read` all fields without what came before; `confirmed`, `cleared` fields as people did on earlier
    documents; `looked_again` at the places of doubted fields; `asked`, `failed`, `not_asked`: a model for
    doubted fields; `given_up` on models that took too long; `not_classified`: a model that was to tell the
    type failed. by: who did it, as a person knows them. note: the circumstances. without_model: what is true
    as long as no later step asks a model. fields: paths it was about. mended: those of them that the gate
    believed afterwards. is_better: whether its values were taken. is_from_xml: whether it read the embedded
    XML, whose values are certain.
    """

    kind: StepKind
    by: str = ""
    note: str = ""
    without_model: str = ""
    fields: tuple[str, ...] = ()
    mended: tuple[str, ...] = ()
    is_better: bool = False
    is_from_xml: bool = False


def explain_steps(steps: Sequence[StepTaken]) -> str:
    """Explain the steps of an extraction in a sentence."""
    is_model_asked = any(step.kind in _MODEL_ASKED for step in steps)
    explanations: list[str] = []
    for step in steps:
        fields = _name_fields(step.fields)
        values = f"{len(step.fields)} {'value' if len(step.fields) == 1 else 'values'}"
        if step.mended:
            outcome = f"{_name_fields(step.mended)} mended"
        else:
            is_taken = step.is_better and step.kind == "asked"
            outcome = "something found, not yet believed" if is_taken else "nothing better"
        notes = " and ".join(filter(None, (step.note, "" if is_model_asked else step.without_model)))
        clauses: dict[StepKind, str] = {
            "read": ": ".join(filter(None, (step.by, notes))),
            "confirmed": f"{values} as people confirmed before",
            "cleared": f"{values} left out where people cleared them before",
            "looked_again": f"looked again at {fields}: {outcome}",
            "asked": f"asked {step.by} for {fields}: {outcome}",
            "failed": f"asked {step.by} for {fields}: it failed {step.note}",
            "not_asked": f"{step.by} not asked: {step.note}",
            "given_up": f"given up {step.note}",
            "not_classified": f"no model said what it is: it failed {step.note}",
        }
        explanations.append(clauses[step.kind])
    return "; ".join(filter(None, explanations))


def _name_fields(paths: Sequence[str]) -> str:
    """List fields by the names that people use."""
    names = [path.replace("[]", "").replace("_", " ").replace(".", " ") for path in paths]
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


class Extraction(Record):
    """The fields of a document and where each was read.

    document_type: the name of the schema that `data` has. evidence: field path (`seller.name`,
    `lines[0].net_amount`) to its evidence; every value that is not null has one. suggestions: field path to
    other values, the most probable first; in the end only of fields that are null. steps: who read the
    fields, in their order, and what came of it. failures: what the extractor itself found wrong, a rule of
    the document's own standard, say; the gate hands them on. refuted: values that were read and that a person
    has since replaced, by path; nothing is proved by them. model_error: of a model that failed and can be
    asked later for what is still doubted; None where nothing is.
    """

    document_type: str
    data: SerializeAsAny[BaseModel]
    evidence: dict[str, Evidence]
    suggestions: dict[str, tuple[Suggestion, ...]] = Field(default_factory=dict)
    usage: Usage = Usage()
    steps: tuple[StepTaken, ...] = ()
    failures: tuple[Failure, ...] = ()
    refuted: dict[str, Any] = Field(default_factory=dict, exclude=True)
    model_error: InstanceOf[TransientError] | InstanceOf[SetupError] | None = Field(
        default=None, exclude=True
    )

    @property
    def reason(self) -> str:
        """The steps in one sentence, for a person."""
        return explain_steps(self.steps)

    @property
    def suggestions_as_json(self) -> dict[str, Any]:
        """The suggestions as JSON, by path."""
        return {
            path: [suggestion.model_dump(mode="json") for suggestion in suggestions]
            for path, suggestions in self.suggestions.items()
        }

    def with_step(self, step: StepTaken) -> "Extraction":
        """The same after another step."""
        return self.model_copy(update={"steps": (*self.steps, step)})


class Verdict(Record):
    """The gate's result: believed when nothing failed."""

    failures: tuple[Failure, ...] = ()

    @property
    def passed(self) -> bool:
        """True if the data can be used without a person."""
        return not self.failures


@dataclass(frozen=True)
class Result:
    """Everything one run of the pipeline found out about a document.

    refusal: set for a type that no reader takes, document is then null, and for pages without a word;
    extraction and verdict are null with both.
    timings_s: step to seconds. attempt: the run's number for this document, from 1. spent: what all its
    attempts have cost; None if nobody counted.
    """

    content_hash: str
    media_type: str
    classification: Classification
    document: Document | None = None
    extraction: Extraction | None = None
    verdict: Verdict | None = None
    refusal: str | None = None
    timings_s: dict[str, float] = field(default_factory=dict[str, float])
    attempt: int = 1
    spent: Usage | None = None

    @property
    def status(self) -> Literal["completed", "needs_review"]:
        """The status for records, logs and metrics: `needs_review` if the gate found something to look at.

        The view `document_state` of the database says the same of stored results.
        """
        return "completed" if self.verdict is None or self.verdict.passed else "needs_review"

    @property
    def usage(self) -> Usage | None:
        """The cost of reading, classifying and extracting together; None where nothing was read."""
        if self.document is None or self.spent is not None:
            return self.spent
        understood = self.classification.usage.plus(self.extraction.usage if self.extraction else Usage())
        return self.document.usage.plus(understood)
