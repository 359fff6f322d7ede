import numpy as np

from docmill.training.scorers import train_ngrams, train_trees
from docmill.understanding.receipts.scorers import CharNgramModel, Trees


def _rows() -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(5)
    rows = draw.normal(size=(600, 4)).astype(np.float32)
    return rows, (rows[:, 0] > 0).astype(np.int64) + (rows[:, 1] > 1)


def test_trees_tell_classes_apart_and_survive_storage() -> None:
    rows, truth = _rows()

    trees = train_trees(rows, truth, np.ones(600), rounds=20, classes=3, learning_rate=0.2)
    shares = Trees.of(trees.arrays()).probabilities(rows)

    assert (shares.argmax(axis=1) == truth).mean() > 0.95
    assert np.allclose(shares.sum(axis=1), 1)
    assert np.array_equal(shares, trees.probabilities(rows))


def test_each_row_reaches_the_leaf_that_its_branches_lead_to() -> None:
    rows, truth = _rows()
    trees = train_trees(rows, np.minimum(truth, 1), np.ones(600), rounds=7)

    expected = np.zeros(600)
    for index, row in enumerate(rows):
        for tree in range(len(trees.features)):
            at = 0
            while at >= 0:
                goes_left = row[trees.features[tree, at]] <= trees.thresholds[tree, at]
                at = int((trees.left if goes_left else trees.right)[tree, at])
            expected[index] += trees.values[tree, -1 - at]

    assert np.allclose(trees.scores(rows)[:, 0], expected)


def test_the_same_rows_give_the_same_trees() -> None:
    rows, truth = _rows()

    one, other = (train_trees(rows, np.minimum(truth, 1), np.ones(600), rounds=5) for _ in range(2))

    assert np.array_equal(one.probabilities(rows), other.probabilities(rows))


def test_rows_that_tell_nothing_give_trees_of_one_leaf() -> None:
    trees = train_trees(np.zeros((50, 2), np.float32), np.arange(50) % 2, np.ones(50), rounds=2)

    assert np.allclose(trees.probabilities(np.ones((3, 2), np.float32)), 0.5, atol=0.05)


def test_letters_tell_words_they_have_not_seen() -> None:
    texts = [
        "JALAN MAWAR 12",
        "TAMAN INDAH 3",
        "JALAN BESAR 77",
        "ABC TRADING",
        "XY ENTERPRISE",
        "TRADING CO",
    ]

    letters = train_ngrams(texts * 5, np.array([0, 0, 0, 1, 1, 1] * 5), np.ones(30), classes=2)
    scores = CharNgramModel.of(letters.arrays()).scores(["JALAN LAIN 9", "BEST TRADING", ""])

    assert scores[0, 0] > scores[0, 1]
    assert scores[1, 1] > scores[1, 0]
