"""A model of reviewed documents, asked about counterparties that it has not seen."""

from collections.abc import Callable

import pytest

from docmill.model.document import Document
from docmill.schemas.user_schemas import schema_of
from docmill.understanding.corrections.evaluate import (
    ReviewedExample,
    compare_models,
    group_by_counterparty,
    retrain,
)
from docmill.understanding.corrections.fit import fit_model, make_example, values_by_path
from docmill.understanding.user_schemas.schema_model import SchemaModel

MakeDocument = Callable[..., Document]

WANTED = schema_of({"title": "job", "type": "object", "properties": {"job_number": {"type": "string"}}})
HOUSES = (
    "garage river bicycle repairs paper collecting morning",
    "bakery harbour flour yeast wedding cakes daily",
    "printing posters leaflets banners colours evening",
    "gardens hedges lawns ponds terraces fences spring",
    "pianos organs violins tuning concerts rental halls",
    "windows doors shutters blinds frames hinges glass",
)


@pytest.fixture
def example(make_document: MakeDocument) -> Callable[..., ReviewedExample]:
    """A ticket of a house, whose job number is what stands beside `Kennung`."""

    def make(house: int, number: int, *identifiers: str) -> ReviewedExample:
        words, job = HOUSES[house], f"Job number    {number + 40000}"
        rows = [words, job, f"Kennung       KN{number:05}", words]
        text = "\n".join(rows)
        made = make_example(make_document(text), WANTED, {"job_number": f"KN{number:05}"})
        return ReviewedExample(made, frozenset(identifiers))

    return make


def test_what_all_reviewed_documents_say_is_read_on_those_of_others(
    example: Callable[..., ReviewedExample],
) -> None:
    examples = [example(house, 10 * house + number) for house in range(6) for number in (1, 2)]

    found = compare_models(SchemaModel("job"), examples)

    assert (found.documents, found.groups, found.values) == (12, 6, 12)
    assert (found.untaught, found.before, found.after) == (0, 0, 12)
    assert found.is_better
    assert len(retrain(SchemaModel("job"), examples).examples) == 12


def test_a_model_that_knows_it_all_stays(example: Callable[..., ReviewedExample]) -> None:
    examples = [example(house, house) for house in range(6)]
    before = fit_model("job", [one.example for one in examples])

    found = compare_models(before, [example(0, 77), example(1, 78)])

    assert found.before == found.after == 2
    assert not found.is_better


def test_documents_with_a_number_in_common_are_of_one_counterparty(
    example: Callable[..., ReviewedExample],
) -> None:
    examples = [
        example(0, 1, "tax us", "tax a"),
        example(1, 2, "tax us", "tax a"),
        example(2, 3, "tax us", "tax b"),
        example(3, 4, "tax us"),
        example(3, 5, "tax us"),
    ]

    assert group_by_counterparty(examples) == [[0, 1], [2], [3, 4]]
    assert group_by_counterparty(examples[:2]) == [[0], [1]]


def test_values_are_known_by_path_and_lists_teach_nothing() -> None:
    assert values_by_path({"a": 1, "b": {"c": "2"}, "lines": [{"d": 3}]}) == {"a": 1, "b.c": "2"}
