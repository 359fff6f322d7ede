"""Vectors of words: what means the like is near, in several languages, and no input does harm."""

import numpy as np
import pytest

from docmill.understanding.meaning.word_vectors import DIMENSIONS, WordVectors, thesaurus


@pytest.fixture(scope="module")
def vectors() -> WordVectors:
    return WordVectors()


def likeness(vectors: WordVectors, first: str, second: str) -> float:
    one, other = vectors.embed([first, second])
    return float(one @ other)


@pytest.mark.parametrize(
    ("word", "like", "unlike"),
    [
        ("insurance", "policy", "invoice"),
        ("Versicherung", "policy", "invoice"),
        ("assurance", "póliza", "facture"),
        ("Hausratversicherung", "insurance", "parking"),
        ("rent", "lease", "policy"),
        ("Miete", "lease", "insurance"),
    ],
)
def test_what_means_the_like_is_near(vectors: WordVectors, word: str, like: str, unlike: str) -> None:
    assert likeness(vectors, word, like) > 0.3 > likeness(vectors, word, unlike)


def test_order_and_repetition_change_nothing(vectors: WordVectors) -> None:
    first, again = vectors.embed(["car repair", "repair, CAR: repair!"])

    assert first == pytest.approx(again, abs=1e-6)
    assert np.linalg.norm(first) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("text", ["", "<", "12.50", "\0\0", "\ud800", "🧾🧾", "-- ' OR 1=1", "a b"])
def test_what_has_no_words_has_no_meaning(vectors: WordVectors, text: str) -> None:
    assert not vectors.embed([text]).any()


def test_long_texts_and_words_are_embedded_by_their_beginning(vectors: WordVectors) -> None:
    rows = vectors.embed(["insurance " * 100_000, "ß" * 10_000, "日本語" * 1000])

    assert rows.shape == (3, DIMENSIONS)
    assert np.isfinite(rows).all()
    assert rows[0] == pytest.approx(vectors.embed(["insurance"])[0], abs=1e-6)


def test_nothing_embeds_to_nothing(vectors: WordVectors) -> None:
    assert vectors.embed([]).shape == (0, DIMENSIONS)


def test_the_thesaurus_is_in_lower_case_and_names_one_meaning_each() -> None:
    words = thesaurus()

    assert all(word == word.lower() for word in words)
    assert not set(words) & set(words.values()), "a word would be replaced by another English one"
