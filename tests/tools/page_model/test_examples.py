import numpy as np
from tools.page_model.examples import (
    UNKNOWN,
    batch_of,
    batches_by_length,
    fold_of,
    labelled_page,
    vocabulary_of,
)
from tools.page_model.judging import coverage, least_threshold
from tools.page_model.samples import PageFacts, Sample

from docmill.training.receipts import FOLDS
from docmill.understanding.page_model.features import HIDDEN, PADDING
from docmill.understanding.page_model.model import Vocabulary


def _sample(count: int, *, group: str = "a", source: str = "test") -> Sample:
    return Sample(
        key=f"{group} {count}",
        source=source,
        group=group,
        kind="receipt",
        facts=PageFacts("receipt", country="at"),
        texts=[f"word{number}" for number in range(count)],
        boxes=np.array([[0.1, y, 0.3, y + 0.02] for y in np.linspace(0, 1, count)], np.float32),
        lines=np.arange(count, dtype=np.int32),
        roles=["number", None, *["none"] * (count - 2)],
        goes_on=[False] * count,
        known=("number", "issue_date"),
    )


_VOCABULARY = Vocabulary(("none", "issue_date", "number", "tip"), (("receipt",), ("at", "de"), (), ()))


def test_a_vocabulary_holds_every_role_and_fact_with_none_first() -> None:
    vocabulary = vocabulary_of([_sample(4)])

    assert vocabulary.roles == ("none", "number")
    assert vocabulary.facts == (("receipt",), ("at",), (), ())
    assert Vocabulary.of_json(vocabulary.to_json()) == vocabulary


def test_a_word_without_a_role_may_have_one_that_was_not_labelled_on_its_page() -> None:
    page = labelled_page(_sample(4), _VOCABULARY)

    assert page.roles.tolist() == [2, UNKNOWN, 0, 0]
    assert page.open_roles.tolist() == [True, False, False, True]
    assert page.facts == [0, 0, UNKNOWN, UNKNOWN]


def test_pages_of_a_batch_are_padded_and_look_at_no_word_that_is_not_theirs() -> None:
    batch = batch_of([labelled_page(_sample(count), _VOCABULARY) for count in (4, 7)])

    assert batch.mask.sum(axis=1).tolist() == [4, 7]
    assert (batch.grams[0, 4:] == PADDING).all()
    assert (batch.roles[0, 4:] == UNKNOWN).all()
    assert set(batch.neighbours[0, :4].ravel().tolist()) <= {0, 1, 2, 3, 7}


def test_hidden_words_show_nothing_of_their_text() -> None:
    page = labelled_page(_sample(6), _VOCABULARY)

    batch = batch_of([page], hide=1.0, classes=100, draw=np.random.default_rng(1))

    assert (batch.grams[0, :, 0] == HIDDEN).all()
    assert (batch.grams[0, :, 1:] == PADDING).all()
    assert (batch.hidden[0] >= 0).all()


def test_batches_hold_every_page_once_and_no_more_words_than_they_may() -> None:
    pages = [labelled_page(_sample(count), _VOCABULARY) for count in range(3, 23)]

    batches = batches_by_length(pages, 40, np.random.default_rng(1))

    assert sorted(len(page) for batch in batches for page in batch) == list(range(3, 23))
    assert all(len(batch) * max(map(len, batch)) <= 40 for batch in batches)


def test_readings_of_one_vendor_are_in_one_fold() -> None:
    assert fold_of(_sample(4, source="world")) == fold_of(_sample(9, source="world-pdf"))
    assert len({fold_of(_sample(4, group=str(number))) for number in range(40)}) == FOLDS


def test_a_threshold_is_the_least_with_enough_right_above_it() -> None:
    chances = np.linspace(1, 0, 100)
    right = np.ones(100, np.bool_)
    right[[40, 60, 61, 62, 63]] = False

    assert least_threshold(chances, right) == chances[59]
    assert least_threshold(chances, np.zeros(100, np.bool_)) > 1


def test_coverage_takes_the_threshold_of_a_fold_from_the_others() -> None:
    chances = np.tile([0.9, 0.5], 50)
    right = np.tile([True, False], 50)
    folds = np.repeat([0, 1], 50)

    assert coverage(chances, right, folds, 125) == (50 / 125, 1.0)
