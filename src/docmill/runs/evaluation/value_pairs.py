"""Values of a document beside the true ones, with items of lists in the best pairs."""

from collections.abc import Collection, Mapping, Sequence

from pydantic import BaseModel

from docmill.errors import MisconfiguredError
from docmill.evaluation.judge import Judge, JudgedValue
from docmill.evaluation.truth import Truth, known_fields
from docmill.model.result import Schema
from docmill.runs.evaluation.typed_truth import kinds_of, original_of, values_of
from docmill.schemas.outline import Kind
from docmill.schemas.user_schemas import nearest


class ValuePairs:
    """Compares instances of schemas value by value, as `docmill eval` does.

    fields: paths of those that are compared, with what is in them; None for all. kinds: of values that are
    compared; None for all.
    """

    def __init__(self, fields: Sequence[str] | None = None, *, kinds: Collection[Kind] | None = None) -> None:
        self._fields = fields
        self._kinds = kinds
        self._judges: dict[type[BaseModel], Judge] = {}

    def prepare(self, expected: Sequence[BaseModel]) -> None:
        """Learn which fields the truths of all documents name: where a list has too many items, these count.

        Raises MisconfiguredError for a field to be compared that no schema has.
        """
        by_schema: dict[type[BaseModel], list[BaseModel]] = {}
        for one in expected:
            by_schema.setdefault(original_of(one), []).append(one)
        self._judges = {
            schema: judge_of(schema, [Truth(schema.__name__, values_of(one)) for one in several])
            for schema, several in by_schema.items()
        }
        paths = {path for schema in by_schema for path in kinds_of(schema)}
        for field in self._fields or ():
            if by_schema and not any(_is_within(path, field) for path in paths):
                raise MisconfiguredError(f"there is no field {field!r} to compare{nearest(field, paths)}")

    def kinds(self, expected: BaseModel) -> Mapping[str, Kind]:
        """The kinds of the values of an instance, by path."""
        return kinds_of(original_of(expected))

    def compare(self, expected: BaseModel, extracted: BaseModel | None) -> list[JudgedValue]:
        """The true values, and those that were read where there is none. extracted: None if it failed."""
        true = values_of(expected)
        schema = original_of(expected)
        judge = self._judges.get(schema) or judge_of(schema, [Truth(schema.__name__, true)])
        read = {} if extracted is None else extracted.model_dump(mode="json")
        return [
            cell
            for cell in judge.cells(true, read)
            if (self._kinds is None or judge.kinds.get(cell.field) in self._kinds)
            and (self._fields is None or any(_is_within(cell.field, field) for field in self._fields))
        ]


def judge_of(schema: type[BaseModel], truths: Sequence[Truth], *, month_first: bool = False) -> Judge:
    """The comparison of values of a schema. truths: of all documents.

    Raises MisconfiguredError for a field that the schema does not have.
    """
    known = known_fields(truths, {schema.__name__: Schema(schema.__name__, schema)})
    return Judge(kinds_of(schema), known.labelled, month_first)


def _is_within(path: str, field: str) -> bool:
    return path == field or path.startswith((f"{field}.", f"{field}[]"))
