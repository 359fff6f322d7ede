"""Figures of scores are those that `docmill eval` computes of the same values."""

import random
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel

from docmill.evaluation.metrics import compute_scores
from docmill.evaluation.report import judge_document
from docmill.evaluation.truth import Truth
from docmill.runs.context import context_of_one
from docmill.runs.evaluation.evaluators import FieldEvaluator
from docmill.runs.evaluation.score_figures import (
    Figure,
    add_up,
    describe_figure,
    describe_score,
    figure_of,
    scores_of,
)
from docmill.runs.evaluation.typed_truth import instance_of, values_of
from docmill.runs.evaluation.value_pairs import judge_of
from docmill.runs.roles import Score


class Item(BaseModel):
    name: str | None = None
    amount: Decimal | None = None


class Paper(BaseModel):
    number: str | None = None
    total: Decimal | None = None
    items: list[Item] | None = None


def some_values(generator: random.Random) -> dict[str, Any]:
    """Values of a document, of which any may be missing, null or wrong."""

    def pick(*values: object) -> Any:
        return generator.choice(values)

    items = [
        {"name": pick("a", "b", None), "amount": pick("1", "2", "2.00")}
        for _ in range(generator.randrange(3))
    ]
    values = {"number": pick("A-1", "a 1", "B", None), "total": pick("1.0", "2"), "items": pick(items, None)}
    return {name: value for name, value in values.items() if generator.random() < 0.8}


@pytest.mark.parametrize("seed", range(20))
def test_scores_add_up_to_the_figures_of_docmill_eval(seed: int) -> None:
    generator = random.Random(seed)  # noqa: S311  test data
    truths = [
        Truth(str(number), some_values(generator), group=str(generator.randrange(4))) for number in range(9)
    ]
    read = [some_values(generator) if generator.random() < 0.8 else None for _ in truths]
    expected = [instance_of(Paper, truth.data, truth.source) for truth in truths]
    extracted = [None if values is None else instance_of(Paper, values, "read") for values in read]

    evaluator = FieldEvaluator()
    evaluator.prepare(expected)
    scores = [
        {score.name: score for score in evaluator.evaluate(true, found, context_of_one())}
        for true, found in zip(expected, extracted, strict=True)
    ]
    figures = add_up(scores, [truth.group or "" for truth in truths])

    typed = [
        Truth(truth.source, values_of(true), group=truth.group)
        for truth, true in zip(truths, expected, strict=True)
    ]
    records = [
        None if found is None else {"status": "completed", "data": found.model_dump(mode="json")}
        for found in extracted
    ]
    judge = judge_of(Paper, typed)
    wanted = compute_scores(
        [
            judge_document(truth.source, truth, record, judge)
            for truth, record in zip(typed, records, strict=True)
        ]
    )
    for name in ("f1", "precision", "recall", "documents_right"):
        assert figures[name].value == pytest.approx(wanted["tiers"]["S2"][name])
    assert figures["recall"].parts.keys() <= wanted["fields"].keys()
    for field, figure in figures["recall"].parts.items():
        assert figure.value == pytest.approx(wanted["fields"][field]["accuracy"])


def test_a_figure_without_anything_to_compare_has_no_value() -> None:
    figures = add_up([{"x": Score("x", 0.0, weight=0.0)}, {}], ["a", "b"])

    assert figures == {"x": Figure(None, None, 0)}
    assert add_up([], []) == {}


def test_weights_and_parts_survive_json() -> None:
    score = Score("x", 0.5, {"a": 1.0, "b": 0.0}, 3.0, {"a": 2.0})
    report = {"documents": [{"source": "s", "scores": {"x": describe_score(score)}}, {"source": "t"}]}

    read = scores_of(report)

    assert read == {
        "s": {"x": Score("x", 0.5, {"a": 1.0, "b": 0.0}, 3.0, {"a": 2.0, "b": 1.0})},
        "t": {},
    }
    figure = add_up([read["s"]], ["s"])["x"]
    assert figure_of(describe_figure(figure)) == figure
    assert figure.parts["a"].value == 1
