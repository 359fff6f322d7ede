"""Review of one document: its values, the reviews of them, and the checks that are still open."""

import re
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, NamedTuple
from uuid import UUID

from pydantic import BaseModel, JsonValue
from pydantic import ValidationError as ModelError

from docmill.errors import ChangedError, ValidationError
from docmill.model.document import Box, Document, letters_and_digits
from docmill.model.paths import leaves, path_of, set_value, value_at
from docmill.model.result import Evidence, Extraction, Failure, Schema, Suggestion
from docmill.ports import Gate
from docmill.schemas.filling import filled
from docmill.schemas.outline import FieldOutline, outline
from docmill.service.review.rows import ROW, RowsLeft
from docmill.service.review.typed_values import converted, parse_sent, parse_typed
from docmill.service.store.reviews import (
    NOT_VALUES,
    PROPERTIES,
    REJECTION,
    SERIAL_NUMBER,
    WHOLE,
    Action,
    CurrentReview,
    ReviewableResult,
    ReviewRow,
    ReviewToStore,
)
from docmill.service.store.serial_numbers import CHECK as SERIAL_NUMBER_CHECK
from docmill.understanding.dependent_values import (
    NO_DEPENDENT_VALUES,
    DependentValues,
    find_dependent_values,
)
from docmill.understanding.locate.evidence import located

_INDEX = re.compile(r"\[(0|[1-9][0-9]{0,3})\]")
"""Indices have one form only: a review of `[01]` would not be one of `[1]`."""
_LONGEST_REASON = 500


class FittedReviews(NamedTuple):
    """A result and the reviews of it whose values its schema takes, by path."""

    result: ReviewableResult
    current: dict[str, CurrentReview]


class InvalidValuesError(ValidationError):
    """Values that do not fit their fields. faults: path to a sentence for the person."""

    def __init__(self, faults: Mapping[str, str]) -> None:
        super().__init__(" ".join(faults.values()))
        self.faults = dict(faults)


@dataclass(frozen=True, slots=True)
class FieldReview:
    """A person's review of the value at `path`, or of the whole document if `path` is empty.

    value: of a correction; text that was typed by hand if `is_typed`, else as in the document's data. Of a
    rejection, the reason.
    seen: the value that the person saw, as `shown`, which must still be there; None where nobody says.
    page, box: where the person pointed. reason: why a value is confirmed without a look at it.
    """

    path: str
    action: Action
    value: JsonValue = None
    seen: str | None = None
    page: int | None = None
    box: Box | None = None
    is_typed: bool = False
    reason: str | None = None


@dataclass(frozen=True)
class ReviewSession:
    """A document whose row is locked, and everything that its review depends on.

    document: as it was read; None if that is gone. history: all reviews, newest first.
    """

    result: ReviewableResult
    current: Mapping[str, CurrentReview]
    schema: Schema
    document: Document | None
    gate: Gate
    history: Sequence[ReviewRow] = ()

    @property
    def has_reviewed_values(self) -> bool:
        """True if a person has reviewed a value."""
        return any(path not in NOT_VALUES for path in self.current)

    def accept(self, reviews: Sequence[FieldReview]) -> list[ReviewToStore]:
        """The reviews to be kept. Raises InvalidValuesError, ChangedError."""
        faults: dict[str, str] = {}
        accepted: dict[str, ReviewToStore] = {}
        for review in reviews:
            if review.path in accepted:
                faults[review.path] = "This value was spoken of twice."
                continue
            try:
                accepted[review.path] = self._review(review)
            except ValueError as error:
                faults[review.path] = str(error)
        corrected = {path: review.value for path, review in accepted.items() if review.action == "correct"}
        try:  # the schema's own rules
            self.schema.fields.model_validate(self._data_with(corrected), by_alias=True, by_name=True)
        except ModelError as error:
            messages = {path_of(detail["loc"]): detail["msg"] for detail in error.errors()}
            faults |= {path: f"{messages[path]}." for path in corrected if path in messages}
        if faults:
            raise InvalidValuesError(faults)
        return self._with_places(list(accepted.values()), corrected)

    @property
    def rejection(self) -> str | None:
        """The reason for which a person has rejected the document."""
        review = self.current.get(REJECTION)
        return None if review is None else shown(review.value)

    def confirm_all(self, reason: str | None = None) -> list[ReviewToStore]:
        """A confirmation of everything that nobody has spoken of, and of the checks that failed.

        reason: why without a look at them. Raises InvalidValuesError for one that is too long.
        """
        if reason is not None:
            try:
                reason = _checked_reason(reason)
            except ValueError as error:
                raise InvalidValuesError({WHOLE: str(error)}) from error
        failures, _ = self.judge()
        paths = [path for path, _ in leaves(self.data)]
        paths += [path for failure in failures for path in failure.fields if self._leaf(path)]
        paths = [path for path in dict.fromkeys(paths) if path not in self.current]
        if any(not failure.fields for failure in failures):
            paths.append(WHOLE)
        return self.accept([FieldReview(path, "confirm", reason=reason) for path in paths])

    def undo_last(self) -> list[ReviewToStore]:
        """Reviews that take back the latest ones; edits of the document itself are not among them."""
        of_values = {path: review for path, review in self.current.items() if path not in PROPERTIES}
        latest = max((review.at for review in of_values.values()), default=None)
        return self.accept(
            [FieldReview(path, "undo") for path, review in of_values.items() if review.at == latest]
        )

    def with_reviews(self, reviews: Sequence[FieldReview]) -> "ReviewSession":
        """The session as it would be with these reviews. Raises as `accept`."""
        data, current = deepcopy(self.result.data), dict(self.current)
        now = datetime.now(UTC)
        for review in self.accept(reviews):
            if data is not None and review.path not in NOT_VALUES:
                set_value(data, review.path, review.value)
            if review.action == "undo":
                current.pop(review.path, None)
                continue
            current[review.path] = CurrentReview(
                id=UUID(int=0),
                ingestion_id=self.result.ingestion_id,
                path=review.path,
                action=review.action,
                value=review.value,
                before=review.before,
                machine=review.machine,
                evidence=review.evidence,
                read_now=review.machine,
                reviewed_by=UUID(int=0),
                at=now,
            )
        return replace(self, result=replace(self.result, data=data), current=current)

    def judge(self) -> tuple[list[Failure], list[Failure]]:
        """The failed checks that a person must still look at, and those that a person has let pass."""
        failures = self._reviewed_failures()
        # A person has reviewed every value that a check names, or has let the check itself pass.
        whole = self.current.get(WHOLE)
        let_pass = list(whole.value) if whole is not None and isinstance(whole.value, list) else []
        if SERIAL_NUMBER in self.current:
            let_pass.append(SERIAL_NUMBER_CHECK)
        still = [
            failure
            for failure in failures
            if any(path not in self.current for path in failure.fields)
            or (not failure.fields and failure.check not in let_pass)
        ]
        return still, [failure for failure in failures if failure not in still]

    def _reviewed_failures(self) -> tuple[Failure, ...]:
        """All failed checks of the values as reviewed."""
        if self.document is None:
            return (*self._stored_failures, *self._dependent.failures)
        own = (*self._extractor_failures(), *self._dependent.failures)
        left = RowsLeft.of(self.data)
        extraction = Extraction(
            document_type=self.schema.name,
            data=filled(self.schema.fields, left.data),
            evidence=left.renumbered(self._evidence),
            suggestions=left.renumbered(self.suggestions),
            failures=left.renumber_failures(own),
            refuted=left.renumbered(self._dependent.refuted),
        )
        return left.restore(self.gate.judge(self.document, extraction, self.schema).failures)

    def _extractor_failures(self) -> tuple[Failure, ...]:
        """The extractor's own failures: all stored ones that the gate does not find in the same values."""
        assert self.document is not None, "without a document all stored failures count"
        judged = self.gate.judge(self.document, self.machine_extraction, self.schema)
        of_gate = {(failure.check, failure.fields) for failure in judged.failures}
        return tuple(
            failure for failure in self._stored_failures if (failure.check, failure.fields) not in of_gate
        )

    @property
    def machine_extraction(self) -> Extraction:
        """The values as they were read."""
        return _extraction_as_read(self.result, self.schema)

    @property
    def reviewed_extraction(self) -> Extraction:
        """The values as reviewed; those that a person reviewed have no evidence, since they need none."""
        return Extraction(
            document_type=self.schema.name,
            data=self._model,
            evidence={path: proof for path, proof in self._evidence.items() if path not in self.current},
            suggestions={path: some for path, some in self.suggestions.items() if path not in self.current},
            refuted=dict(self._dependent.refuted),
        )

    @cached_property
    def data(self) -> dict[str, Any] | None:
        """The values as reviewed, with those that depend on them."""
        data = deepcopy(self.result.data)
        if data is not None:
            for path, value in self._dependent.values.items():
                set_value(data, path, value)
        return data

    @property
    def suggestions(self) -> dict[str, tuple[Suggestion, ...]]:
        """The values to accept, by path."""
        return suggestions_of(self.result.suggestions) | dict(self._dependent.suggestions)

    @cached_property
    def _dependent(self) -> DependentValues:
        return dependent_values_of(self.result, self.current, self.schema)

    @cached_property
    def _stored_failures(self) -> tuple[Failure, ...]:
        return tuple(failures_in(self.result.read_verdict))

    @cached_property
    def _model(self) -> BaseModel:
        return filled(self.schema.fields, self.data or {})

    @cached_property
    def _evidence(self) -> dict[str, Evidence]:
        return _evidences(evidence_of(self.result.evidence, self.current.values(), self._dependent))

    @cached_property
    def _leaves(self) -> dict[str, FieldOutline]:
        return {leaf.path: leaf for leaf in outline(self.schema)}

    def _leaf(self, path: str) -> FieldOutline | None:
        return self._leaves.get(schema_path(path))

    def _review(self, review: FieldReview) -> ReviewToStore:
        """Raises ValueError with a sentence for the person, ChangedError."""
        if review.path in PROPERTIES:
            raise ValueError(
                "The type, title, date and archive serial number of a document are changed with the document."
            )
        if review.path in NOT_VALUES:
            before = self.current[review.path].value if review.path in self.current else None
        else:
            before = value_at(self.data, review.path)
        if review.seen is not None and review.seen != shown(before):
            raise ChangedError("Somebody has changed this value meanwhile. Look at it as it is now.")
        machine = value_at(self.result.machine, review.path)
        if review.action == "undo":
            undone = self.current.get(review.path)
            if undone is None:
                raise ValueError("There is nothing to undo here.")
            return ReviewToStore(review.path, "undo", undone.before, before, machine, undoes=undone.id)
        action, value = self._action_and_value(review, before)
        reason = review.reason if action == "confirm" else None
        return ReviewToStore(
            review.path, action, value, before, machine, review.page, review.box, reason=reason
        )

    def _action_and_value(self, review: FieldReview, before: JsonValue) -> tuple[Action, JsonValue]:
        if review.path == WHOLE:
            if review.action != "confirm":
                raise ValueError("A document as a whole can only be confirmed.")
            failures = self._reviewed_failures()
            return "confirm", [failure.check for failure in failures if not failure.fields]
        if review.path == REJECTION or review.action == "reject":
            return "reject", _rejection(review)
        if review.action == "remove":
            return "remove", self._removed_row(review.path)
        leaf = self._leaf(review.path)
        if leaf is None or not self._has_room(review.path):
            raise ValueError("This type of document has no such value.")
        pages = self.document.pages if self.document else ()
        if review.page is not None and pages and review.page not in {page.number for page in pages}:
            raise ValueError("The document has no such page.")
        if review.action == "confirm":
            return "confirm", before
        if review.action == "clear" or review.value in (None, ""):
            return ("clear", None) if before is not None else ("confirm", None)
        value = parse_typed(leaf, str(review.value)) if review.is_typed else parse_sent(leaf, review.value)
        return ("correct", value) if value != before else ("confirm", before)

    def _removed_row(self, path: str) -> JsonValue:
        """What a row leaves in its list. Raises ValueError if the path is that of no row."""
        is_listed = ROW.fullmatch(path) and schema_path(path) in row_paths(self.schema)
        if not is_listed or not value_at(self.data, path):
            raise ValueError("There is no such row.")
        return {}

    def _has_room(self, path: str) -> bool:
        """True if every list on the path has the row, or can have it as its next one."""
        for match in _INDEX.finditer(path):
            rows: JsonValue = value_at(self.data, path[: match.start()])
            if int(match[1]) > (len(rows) if isinstance(rows, list) else 0):
                return False
        return True

    def _data_with(self, corrected: Mapping[str, JsonValue]) -> dict[str, Any]:
        data: dict[str, Any] = deepcopy(self.data or {})
        for path, value in corrected.items():
            set_value(data, path, value)
        return data

    def _with_places(
        self, reviews: list[ReviewToStore], corrected: Mapping[str, JsonValue]
    ) -> list[ReviewToStore]:
        """The reviews with where their values stand: where the person pointed, else where we find them."""
        if self.document is None:
            return reviews
        places: dict[str, Evidence] = {}
        if corrected:
            model = filled(self.schema.fields, self._data_with(corrected))
            evidence = located(self.document, model, self.schema)
            places = {
                path: evidence[path]
                for path in corrected
                if path in evidence and evidence[path].match != "none"
            }
        for review in reviews:
            if review.page is not None and review.box is not None and review.value is not None:
                box = Box(*review.box)
                page = next(page for page in self.document.pages if page.number == review.page)
                boxes = page.words.boxes
                x, y = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
                inside = (box.x0 <= x) & (x <= box.x1) & (box.y0 <= y) & (y <= box.y1)
                text = " ".join(word for word, is_in in zip(page.words.texts, inside, strict=True) if is_in)
                is_same = letters_and_digits(text) == letters_and_digits(shown(review.value))
                places[review.path] = Evidence(
                    page=page.number,
                    box=box,
                    text=text or None,
                    match="exact" if is_same else "normalised",
                    confidence=1.0,
                )
        return [
            replace(review, evidence=places[review.path].model_dump(mode="json"))
            if review.path in places
            else review
            for review in reviews
        ]


def fit_to_schema(
    result: ReviewableResult, current: Mapping[str, CurrentReview], schema: Schema
) -> FittedReviews:
    """The result and its reviews with values of the kinds of their fields, after a change of the type.

    A value of another kind is converted; where that cannot be done, what was read stays, and the review waits
    for a type that takes it, as does one of a field that the schema has not.
    """
    kinds = {leaf.path: leaf for leaf in outline(schema)}
    data: dict[str, Any] = deepcopy(result.data or {})
    fitting: dict[str, CurrentReview] = {}
    for path, review in current.items():
        leaf = kinds.get(schema_path(path))
        if leaf is None:
            fitting[path] = review
            continue
        try:
            value = converted(leaf, review.value)
        except ValueError:
            set_value(data, path, value_at(result.machine, path))
            continue
        if value != review.value:
            set_value(data, path, value)
        fitting[path] = replace(review, value=value)
    return FittedReviews(replace(result, data=data if result.data is not None else None), fitting)


def row_paths(schema: Schema) -> set[str]:
    """The paths of the rows of a schema's lists, without numbers: `lines[]`."""
    return {leaf.path.rpartition(".")[0] for leaf in outline(schema) if "[]." in leaf.path}


def _rejection(review: FieldReview) -> str:
    """The reason of a rejection. Raises ValueError for one of a value, and for another review of its path."""
    if review.path != REJECTION or review.action != "reject":
        raise ValueError("Only a document can be rejected, and nothing else can be said of that.")
    return _checked_reason(shown(review.value))


def _checked_reason(reason: str) -> str:
    """The reason without spaces around it. Raises ValueError with a sentence for the person."""
    reason = reason.strip()
    if not reason:
        raise ValueError("Please say why.")
    if len(reason) > _LONGEST_REASON:
        raise ValueError(f"This reason is too long: it has {_LONGEST_REASON} letters at most.")
    return reason


def failures_in(verdict: Mapping[str, Any] | None, key: str = "failures") -> list[Failure]:
    """The failed checks of a stored verdict. key: `accepted` for those that people let pass."""
    return [Failure.model_validate(failure) for failure in (verdict or {}).get(key, ())]


def schema_path(path: str) -> str:
    """The path as a schema has it, without the numbers of rows."""
    return _INDEX.sub("[]", path)


def shown(value: JsonValue) -> str:
    """A value as people see it."""
    return "" if value is None else str(value)


def dependent_values_of(
    result: ReviewableResult, current: Mapping[str, CurrentReview], schema: Schema
) -> DependentValues:
    """The values that nobody has reviewed and that change, or are withheld, because of the reviews."""
    reviewed = current.keys() - NOT_VALUES
    if not reviewed or result.machine is None:
        return NO_DEPENDENT_VALUES
    return find_dependent_values(_extraction_as_read(result, schema), result.data or {}, reviewed, schema)


def _extraction_as_read(result: ReviewableResult, schema: Schema) -> Extraction:
    return Extraction(
        document_type=schema.name,
        data=filled(schema.fields, result.machine or {}),
        evidence=_evidences(result.evidence),
        suggestions=suggestions_of(result.suggestions),
    )


def evidence_of(
    evidence: Mapping[str, Any] | None,
    current: Iterable[CurrentReview],
    dependent: DependentValues = NO_DEPENDENT_VALUES,
) -> dict[str, Any]:
    """The evidence of values as read, where they still hold, and of values as reviewed."""
    current = list(current)
    withheld = {path for path, value in dependent.values.items() if value is None}
    removed = tuple(f"{review.path}." for review in current if review.action == "remove")
    merged = {path: proof for path, proof in (evidence or {}).items() if path not in withheld}
    merged = {path: proof for path, proof in merged.items() if not path.startswith(removed)}
    for review in current:
        if review.action != "confirm" or review.value != review.read_now:
            merged.pop(review.path, None)
        if review.evidence is not None:
            merged[review.path] = review.evidence
    return merged


def suggestions_of(stored: Mapping[str, Any] | None) -> dict[str, tuple[Suggestion, ...]]:
    """The stored suggestions, by path."""
    return {
        path: tuple(Suggestion.model_validate(suggestion) for suggestion in suggestions)
        for path, suggestions in (stored or {}).items()
    }


def _evidences(evidence: Mapping[str, Any] | None) -> dict[str, Evidence]:
    return {path: Evidence.model_validate(fields) for path, fields in (evidence or {}).items()}
