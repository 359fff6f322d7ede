"""Ready evaluators, each by itself."""

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel, Field

from docmill.errors import MisconfiguredError
from docmill.runs.context import context_of_one
from docmill.runs.evaluation.evaluators import (
    EvaluatorConfig,
    ExactEvaluator,
    FieldEvaluator,
    FieldEvaluatorConfig,
    FunctionEvaluator,
    FunctionEvaluatorConfig,
    NumericEvaluator,
    NumericEvaluatorConfig,
    SimilarityEvaluator,
    SimilarityEvaluatorConfig,
)
from docmill.runs.evaluation.typed_truth import instance_of, original_of, values_of
from docmill.runs.roles import Score

CONTEXT = context_of_one()


class Line(BaseModel):
    name: str
    amount: Decimal


class Bill(BaseModel):
    number: str
    day: dt.date | None = None
    total: Decimal | None = None
    lines: list[Line] = Field(default_factory=list[Line])


TRUE = Bill(
    number="A-1",
    total=Decimal("119.00"),
    lines=[Line(name="Pallet", amount=Decimal(100)), Line(name="Freight", amount=Decimal(19))],
)


def scores(evaluator: Any, expected: BaseModel, extracted: BaseModel | None) -> Mapping[str, Score]:
    return {score.name: score for score in evaluator.evaluate(expected, extracted, CONTEXT)}


def bill(**values: Any) -> Bill:
    return TRUE.model_copy(update=values)


def test_exact_wants_the_same_characters_and_the_same_number() -> None:
    read = bill(number="a-1", total=Decimal("119.0"))

    exact = scores(ExactEvaluator(), TRUE, read)["exact"]

    assert exact.parts == {"number": 0, "total": 1, "lines[].name": 1, "lines[].amount": 1}
    assert (exact.value, exact.weight) == (5 / 6, 6)
    assert exact.part_weights["lines[].name"] == 2


def test_fields_that_the_truth_does_not_name_are_not_judged_and_null_is() -> None:
    expected = Bill(number="A-1", day=None)

    exact = scores(ExactEvaluator(), expected, bill(day=dt.date(2026, 1, 2)))["exact"]

    assert exact.parts == {"number": 1, "day": 0}


def test_items_of_lists_are_compared_in_the_best_pairs() -> None:
    read = bill(lines=[TRUE.lines[1], Line(name="Pallet", amount=Decimal(7)), TRUE.lines[1]])

    found = scores(FieldEvaluator(), TRUE, read)

    assert found["recall"].parts["lines[].name"] == 1
    assert found["recall"].parts["lines[].amount"] == 0.5
    assert found["precision"].parts["lines[].name"] == pytest.approx(2 / 3)
    assert found["documents_right"].value == 0


def test_a_failed_document_has_all_its_values_missing() -> None:
    found = scores(FieldEvaluator(), TRUE, None)

    assert (found["recall"].value, found["recall"].weight) == (0, 6)
    assert (found["f1"].value, found["f1"].weight) == (0, 6)
    assert found["precision"].weight == 0
    assert found["documents_right"].value == 0
    for evaluator in (ExactEvaluator(), NumericEvaluator(), SimilarityEvaluator()):
        (score,) = evaluator.evaluate(TRUE, None, CONTEXT)
        assert score.value == 0
        assert score.weight > 0


@pytest.mark.parametrize(
    ("absolute", "relative", "read", "is_right"),
    [
        ("0", "0", "119.01", False),
        ("0.01", "0", "119.01", True),
        ("0", "0.01", "120.19", True),
        ("0", "0.01", "120.20", False),
        ("0.01", "0.01", "120.19", True),
    ],
)
def test_numbers_may_differ_by_a_tolerance(absolute: str, relative: str, read: str, is_right: bool) -> None:  # noqa: FBT001
    config = NumericEvaluatorConfig(absolute=Decimal(absolute), relative=Decimal(relative), fields=("total",))

    (score,) = NumericEvaluator(config).evaluate(TRUE, bill(total=Decimal(read)), CONTEXT)

    assert score == Score("numeric", float(is_right), {"total": float(is_right)}, 1, {"total": 1})


def test_numbers_are_compared_and_texts_are_not() -> None:
    assert set(scores(NumericEvaluator(), TRUE, TRUE)["numeric"].parts) == {"total", "lines[].amount"}
    assert set(scores(SimilarityEvaluator(), TRUE, TRUE)["similarity"].parts) == {"number", "lines[].name"}


def test_texts_are_similar_as_the_method_says() -> None:
    expected, read = Bill(number="Halden Freight"), Bill(number="FREIGHT Halden")
    cut = Bill(number="HALDEN Freigh")

    def similarity(read: Bill, **config: Any) -> float:
        evaluator = SimilarityEvaluator(SimilarityEvaluatorConfig(**config))
        return scores(evaluator, expected, read)["similarity"].value

    assert similarity(read, method="token_sort", ignore_case=True) == 1
    assert similarity(read, ignore_case=True) < 0.6
    assert similarity(cut, ignore_case=True) == pytest.approx(13 / 14)
    assert similarity(cut) == pytest.approx(8 / 14)


def test_a_tier_and_a_name_make_other_figures() -> None:
    strict = FieldEvaluator(FieldEvaluatorConfig(tier="S0", name="strict"))
    read = bill(number="A 1")

    assert scores(FieldEvaluator(), TRUE, read)["documents_right"].value == 1
    assert scores(strict, TRUE, read)["strict_documents_right"].value == 0


def test_an_unknown_field_is_refused_with_the_nearest() -> None:
    evaluator = ExactEvaluator(EvaluatorConfig(fields=("totl",)))

    with pytest.raises(MisconfiguredError, match="no field 'totl' to compare; do you mean 'total'"):
        evaluator.prepare([TRUE])


def test_a_list_counts_with_all_in_it() -> None:
    evaluator = ExactEvaluator(EvaluatorConfig(fields=("lines",)))
    evaluator.prepare([TRUE])

    assert set(scores(evaluator, TRUE, TRUE)["exact"].parts) == {"lines[].name", "lines[].amount"}


def test_what_surplus_items_say_counts_as_far_as_truths_name_it() -> None:
    evaluator = FieldEvaluator()
    named = instance_of(Bill, {"lines": [{"name": "Pallet"}]}, "a")
    empty = instance_of(Bill, {"lines": []}, "b")
    evaluator.prepare([named, empty])

    found = scores(evaluator, empty, TRUE)

    assert set(found["precision"].parts) == {"lines[].name"}
    assert (found["precision"].value, found["precision"].weight) == (0, 2)


async def test_a_function_judges_sync_or_async_and_not_what_failed() -> None:
    async def later(expected: Bill, extracted: Bill, context: object) -> bool:
        del context
        return expected == extracted

    assert await FunctionEvaluator(later).evaluate(TRUE, TRUE, CONTEXT) == [Score("judge", 1.0)]
    assert await FunctionEvaluator(later, name="own").evaluate(TRUE, None, CONTEXT) == [Score("own", 0.0)]
    several = FunctionEvaluator(lambda *_: [Score("x", 1), Score("y", 2)])
    single = FunctionEvaluator(lambda *_: Score("x", 1))
    assert await single.evaluate(TRUE, TRUE, CONTEXT) == [Score("x", 1)]
    assert [score.name for score in await several.evaluate(TRUE, TRUE, CONTEXT)] == ["x", "y"]
    with pytest.raises(MisconfiguredError, match="returned str"):
        await FunctionEvaluator(lambda *_: "good").evaluate(TRUE, TRUE, CONTEXT)


def always(*_: object) -> float:
    return 0.25


async def test_a_function_is_named_in_a_configuration() -> None:
    config = FunctionEvaluatorConfig.model_validate({"function": f"{__name__}:always"})

    assert await FunctionEvaluator(config).evaluate(TRUE, TRUE, CONTEXT) == [Score("judge", 0.25)]


def test_a_truth_may_leave_out_what_the_schema_requires() -> None:
    given = {"total": "EUR 1.234,50", "day": "2.1.2026", "lines": [{"amount": 7}]}

    expected = instance_of(Bill, given, "a")

    assert isinstance(expected, Bill)
    assert original_of(expected) is Bill
    assert expected.total == Decimal("1234.50")
    assert values_of(expected) == {"total": "1234.50", "day": "2026-01-02", "lines": [{"amount": "7"}]}
    with pytest.raises(MisconfiguredError, match=r"truth of 'a' .*day: ") as caught:
        instance_of(Bill, {"day": "secret"}, "a")
    assert "secret" not in str(caught.value)


def test_what_a_schema_requires_may_be_null_in_what_was_extracted() -> None:
    read = instance_of(Bill, {"number": None, "lines": [{"name": None, "amount": "7"}]}, "a")

    assert isinstance(read, Bill)
    assert scores(ExactEvaluator(), TRUE, read)["exact"].value == 0
    assert type(instance_of(Bill, {"number": "A-1"}, "a")) is Bill


class Folder(BaseModel):
    """Holds itself."""

    name: str
    inner: "list[Folder] | None" = None


def test_a_schema_may_hold_itself() -> None:
    expected = instance_of(Folder, {"inner": [{"name": "a"}]}, "a")

    assert values_of(expected) == {"inner": [{"name": "a"}]}


def test_an_empty_text_of_a_number_is_no_value_and_a_wrong_one_stays() -> None:
    assert values_of(instance_of(Bill, {"total": " ", "number": ""}, "a")) == {"total": None, "number": None}
    with pytest.raises(MisconfiguredError, match="total"):
        instance_of(Bill, {"total": "a lot"}, "a")


def test_numbers_of_a_text_field_are_texts() -> None:
    assert values_of(instance_of(Bill, {"number": 17}, "a")) == {"number": "17"}


def test_names_of_members_count_where_a_schema_has_aliases() -> None:
    class Aliased(BaseModel):
        total: Decimal = Field(alias="grandTotal")
        day: dt.date = Field(alias="issueDay")

    assert values_of(instance_of(Aliased, {"total": "5"}, "a")) == {"total": "5"}
