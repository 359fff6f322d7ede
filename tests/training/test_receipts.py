import subprocess
import sys
from dataclasses import replace
from decimal import Decimal

import pytest

from docmill.model.paths import leaves
from docmill.model.result import Extraction
from docmill.schemas.registry import REGISTRY
from docmill.training.receipts import (
    HeldOut,
    LabelledReceipt,
    Prepared,
    cross_validate,
    is_right,
    prepare,
    train_model,
    weigh,
)
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.fields.findings import extraction
from docmill.understanding.receipts.extractor import STEP, learned_findings
from docmill.understanding.receipts.model import LEARNED, ReceiptModel, loads


@pytest.fixture(scope="module")
def documents(labelled: list[LabelledReceipt]) -> list[Prepared]:
    return weigh([prepare(example) for example in labelled])


@pytest.fixture(scope="module")
def found(documents: list[Prepared]) -> list[HeldOut]:
    return cross_validate(documents)


@pytest.fixture(scope="module")
def model(documents: list[Prepared]) -> ReceiptModel:
    return train_model(documents)


def read(example: LabelledReceipt, model: ReceiptModel) -> Extraction:
    """The example's extraction by this model."""
    candidates = candidates_of(example.document)
    found = learned_findings(candidates, model)
    return extraction(REGISTRY["receipt"], found, candidates.layout, step=STEP)


def test_receipts_of_unseen_vendors_are_read_as_labelled(found: list[HeldOut]) -> None:
    for path in LEARNED:
        right = [one.right[path] for one in found if path in one.right]
        assert sum(right) / len(found) > 0.9, path


def test_a_vendor_is_never_on_both_sides(found: list[HeldOut]) -> None:
    folds = {one.document.example.vendor: set[int]() for one in found}
    for one in found:
        folds[one.document.example.vendor].add(one.fold)

    assert all(len(own) == 1 for own in folds.values())


async def test_a_stored_model_gives_the_same_answers(
    model: ReceiptModel, labelled: list[LabelledReceipt]
) -> None:
    stored = loads(model.dumps())

    for example in labelled[:5]:
        assert read(example, model) == read(example, stored)


def test_the_same_receipts_give_the_same_model(documents: list[Prepared], model: ReceiptModel) -> None:
    assert train_model(documents).dumps() == model.dumps()


async def test_every_value_has_its_evidence(model: ReceiptModel, labelled: list[LabelledReceipt]) -> None:
    given = read(labelled[0], model)

    values = dict(leaves(given.data))
    assert set(values) == set(given.evidence)
    assert set(LEARNED) <= set(values)
    assert all(0 <= evidence.confidence <= 1 for evidence in given.evidence.values())


def test_an_example_without_labels_teaches_nothing_wrong(labelled: list[LabelledReceipt]) -> None:
    blank = prepare(replace(labelled[0], truth={}))

    assert not blank.tags.any()
    assert not blank.total.any()
    assert not any(right.any() for right in blank.right.values())


@pytest.mark.parametrize(("label", "right"), [("RM 1,204.50", True), ("1204.05", False), ("none", False)])
def test_labelled_amounts_are_compared_by_value(*, label: str, right: bool) -> None:
    assert is_right(Decimal("1204.50"), label) is right


def test_asking_a_model_needs_nothing_that_trained_it() -> None:
    program = (
        "import sys, docmill.understanding.receipts.extractor as e; e.shipped();"
        "print(sorted({'lightgbm', 'scipy', 'sklearn'} & set(sys.modules)))"
    )

    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert result.stdout.strip() == "[]"
