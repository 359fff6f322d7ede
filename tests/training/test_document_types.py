import subprocess
import sys

import numpy as np
import pytest

from docmill.model.document import Document
from docmill.schemas.document_types import TRAINED_TYPES
from docmill.training.document_types import (
    LabelledDocument,
    cross_validate,
    fit_temperature,
    generate_examples,
    prepare,
    train_model,
    train_shipped,
)
from docmill.training.generated_pages import generate_pages
from docmill.understanding.types.model import FEATURES, softmax

FOLDS = 3


@pytest.fixture(scope="module")
def invented() -> list[LabelledDocument]:
    return generate_examples(12, seed=1)


@pytest.fixture(scope="module")
def examples() -> list[LabelledDocument]:
    """Made up, too, but by another chance."""
    return [one._replace(source=str(index)) for index, one in enumerate(generate_examples(12, seed=2))]


def test_pages_are_made_of_every_type_and_the_same_again() -> None:
    pages = generate_pages(9, seed=7)

    assert {kind for _, kind in pages} == set(TRAINED_TYPES)
    assert [document.text for document, _ in pages] == [
        document.text for document, _ in generate_pages(9, seed=7)
    ]
    assert [document.text for document, _ in pages] != [
        document.text for document, _ in generate_pages(9, seed=8)
    ]
    for document, _ in pages:
        boxes = document.pages[0].words.boxes
        assert ((boxes >= 0) & (boxes <= 1)).all()
        assert (np.diff(document.pages[0].words.lines) >= 0).all()


def test_a_document_without_words_is_no_example() -> None:
    assert prepare(Document("0" * 64, "image/png", []), "other", "a") is None


def test_types_of_papers_that_were_not_seen_are_told(
    examples: list[LabelledDocument], invented: list[LabelledDocument]
) -> None:
    folds = [index % FOLDS for index in range(len(examples))]

    scores = cross_validate(examples, folds, invented)

    truth = [TRAINED_TYPES.index(one.document_type) for one in examples]
    assert (scores.argmax(axis=1) == truth).mean() > 0.9
    assert softmax(scores, fit_temperature(scores, examples)).sum(axis=1) == pytest.approx(1)


def test_a_model_may_look_at_some_signs_alone(
    examples: list[LabelledDocument], invented: list[LabelledDocument]
) -> None:
    only = np.array([name == "narrow" for name in FEATURES])

    scores = cross_validate(examples, [0] * len(examples), invented, columns=only)

    assert len({tuple(row) for row in scores.round(6).tolist()}) <= 2


def test_the_same_papers_give_the_same_model_byte_for_byte(
    examples: list[LabelledDocument], invented: list[LabelledDocument]
) -> None:
    scores = cross_validate(examples, [index % FOLDS for index in range(len(examples))], invented)

    assert (
        train_shipped(examples, invented, scores).dumps() == train_shipped(examples, invented, scores).dumps()
    )
    assert train_model(examples, invented).dumps() != train_model(examples[:-30], invented).dumps()


def test_asking_needs_no_library_that_trains() -> None:
    code = (
        "import sys; from docmill.understanding.types.classifier import classify;"
        "from docmill.understanding.types.model import shipped; shipped();"
        "assert 'lightgbm' not in sys.modules"
    )

    subprocess.run([sys.executable, "-c", code], check=True)
