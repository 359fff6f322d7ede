import numpy as np

from docmill.understanding.page_model.features import (
    BUCKETS,
    GRAMS,
    NEIGHBOURS,
    NUMBERS,
    PADDING,
    label_meanings,
    page_features,
    word_hashes,
)

_TEXTS = ["Kaffeehaus", "Central", "Summe", "12,50"]
_BOXES = np.array(
    [[0.1, 0.1, 0.3, 0.13], [0.32, 0.1, 0.5, 0.13], [0.1, 0.2, 0.25, 0.23], [0.7, 0.2, 0.8, 0.23]], np.float32
)
_LINES = np.array([0, 0, 1, 1], np.int32)


def test_words_that_differ_in_digits_and_case_alone_share_their_hashes_but_one() -> None:
    first, second = word_hashes(["Tisch-12", "TISCH-47"]).tolist()

    assert len(set(first) ^ set(second)) == 4  # themselves, and their shapes


def test_words_with_a_common_part_share_hashes_and_others_do_not() -> None:
    total, totally, other = (
        set(row) - {PADDING} for row in word_hashes(["total", "totals", "Kiwi"]).tolist()
    )

    assert len(total & totally) > len(total) / 2
    assert len(total & other) <= 2  # the letter i, say


def test_hashes_of_a_long_word_are_cut_and_stay_within_the_table() -> None:
    rows = word_hashes(["x" * 500, "1", "価格", "", "\ud800"])  # half of a surrogate pair

    assert rows.shape == (5, GRAMS)
    assert rows.min() >= 0
    assert rows.max() < BUCKETS
    assert (rows[0, :-3] != PADDING).all()


def test_the_hashes_of_a_word_do_not_depend_on_the_words_beside_it() -> None:
    together = word_hashes(["Rechnung", "Nr.", "4711"])

    alone = np.vstack([word_hashes([text]) for text in ("Rechnung", "Nr.", "4711")])

    assert (together == alone).all()


def test_words_of_a_label_have_its_meanings() -> None:
    meanings = label_meanings(["Rechnung", "Nr.", "4711", "Apfel"], np.array([0, 0, 0, 1], np.int32))

    assert meanings[0]
    assert meanings[0] == meanings[1]
    assert meanings[2:] == [(), ()]


def test_the_word_above_is_the_nearest_one_that_shares_a_column() -> None:
    features = page_features(_TEXTS, _BOXES, _LINES, [()] * 4)

    before, _, behind, _, above, below = features.neighbours.T.tolist()
    assert before == [4, 0, 4, 2]
    assert behind == [1, 4, 3, 4]
    assert above == [4, 4, 0, 4]
    assert below == [2, 4, 4, 4]


def test_features_are_finite_and_of_the_shapes_that_the_network_expects() -> None:
    features = page_features(_TEXTS, _BOXES, _LINES, [(), (), (3,), ()])

    assert features.grams.shape == (4, GRAMS)
    assert features.numbers.shape == (4, NUMBERS)
    assert features.neighbours.shape == (4, NEIGHBOURS)
    assert features.places.shape == (4, 5)
    assert np.isfinite(features.numbers).all()
    assert features.grams[2, -3] != PADDING


def test_a_page_of_one_word_has_features() -> None:
    features = page_features(["Beleg"], _BOXES[:1], _LINES[:1], [()])

    assert (features.neighbours == 1).all()
    assert np.isfinite(features.numbers).all()
