"""Examples with the schemas by which a pipeline extracts their documents."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from docmill.errors import MisconfiguredError
from docmill.evaluation.judge import Judge
from docmill.evaluation.truth import Truth
from docmill.ports import Ref
from docmill.runs.definition import PipelineDefinition
from docmill.runs.evaluation.typed_truth import instance_of, values_of
from docmill.runs.evaluation.value_pairs import judge_of
from docmill.runs.flow import OTHER
from docmill.runs.roles import Example


@dataclass(frozen=True, slots=True)
class TypedExample:
    """An example. truth: its values as they were given; expected: as an instance of the schema."""

    ref: Ref
    truth: Truth
    schema: type[BaseModel]
    expected: BaseModel

    @property
    def name(self) -> str:
        """The name of the example in reports."""
        return self.truth.source


@dataclass(frozen=True, slots=True)
class TypedExamples:
    """All examples of an evaluation. judges: comparison of values, by schema."""

    examples: Sequence[TypedExample]
    judges: Mapping[type[BaseModel], Judge]


def schema_for(pipeline: PipelineDefinition[Any], document_type: str | None) -> type[BaseModel]:
    """The schema by which a pipeline extracts documents of a type. document_type: None if it is unknown."""
    kind = pipeline.kinds.get(OTHER)
    if pipeline.classifier is not None and document_type is not None:
        kind = pipeline.kinds.get(document_type, kind)
    return pipeline.schema if kind is None else kind.schema


def type_examples(
    loaded: Iterable[Example[Any]], pipeline: PipelineDefinition[Any], *, month_first: bool
) -> TypedExamples:
    """The examples with their schemas, in the order in which they come.

    Raises MisconfiguredError if there are none, if one comes twice, or if it names what is not in its schema.
    """
    examples = list(loaded)
    if not examples:
        raise MisconfiguredError(
            "there are no examples; an evaluation needs documents whose values are known"
        )
    seen: set[tuple[str, str]] = set()
    by_schema: dict[type[BaseModel], list[Truth]] = {}
    truths: list[tuple[Example[Any], Truth, type[BaseModel]]] = []
    for example in examples:
        if not isinstance(example, Example):  # pyright: ignore[reportUnnecessaryIsInstance]  of others
            raise MisconfiguredError(f"the loader gave {type(example).__name__}; it must be examples")
        for place in (("key", example.ref.key), ("name", example.name)):
            if place in seen:
                raise MisconfiguredError(f"the example {place[1]!r} is there twice")
            seen.add(place)
        schema = schema_for(pipeline, example.document_type)
        truth = Truth(example.name, values_of(example.expected), example.document_type, example.group)
        by_schema.setdefault(schema, []).append(truth)
        truths.append((example, truth, schema))
    judges = {
        schema: judge_of(schema, several, month_first=month_first) for schema, several in by_schema.items()
    }
    return TypedExamples(
        [
            TypedExample(example.ref, truth, schema, _expected(example, truth, schema, month_first))
            for example, truth, schema in truths
        ],
        judges,
    )


def _expected(
    example: Example[Any],
    truth: Truth,
    schema: type[BaseModel],
    month_first: bool,  # noqa: FBT001
) -> BaseModel:
    expected: object = example.expected
    if isinstance(expected, schema):
        return expected
    return instance_of(schema, truth.data, truth.source, month_first=month_first)
