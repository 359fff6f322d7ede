import random
from collections import Counter
from decimal import Decimal

import numpy as np
from tools.page_model.augment import read_again
from tools.page_model.samples import Sample, to_record
from tools.page_model.swaps import stretches, words_of
from tools.page_model.till_texts import KnownTexts
from tools.page_model.tills import KNOWN, till_receipts

from docmill.model.document import letters_and_digits
from docmill.understanding.page_model.seen import LABEL


def printed(sample: Sample, role: str) -> list[str]:
    return [
        " ".join(word.text for word in stretch)
        for stretch in stretches(words_of(sample))
        if stretch[0].role == role
    ]


def test_every_word_of_a_made_up_receipt_has_a_known_role_or_none() -> None:
    for sample in till_receipts(60, seed=1):
        assert {role for role in sample.roles if role} <= {*KNOWN, "none"}
        assert len(sample.texts) == len(sample.boxes) == len(sample.goes_on)
        assert (np.diff(sample.lines) >= 0).all()
        assert sample.boxes.max(axis=0)[2] <= 1


def test_what_is_printed_is_what_the_receipt_has() -> None:
    for sample in till_receipts(60, seed=1):
        names = {letters_and_digits(name) for name in printed(sample, "seller.name")}

        assert names == {letters_and_digits(name) for name in sample.values["seller.name"]}
        assert set(sample.roles) & set(sample.values) == set(sample.values)


def test_the_items_and_the_tax_make_the_total() -> None:
    checked = 0
    for sample in till_receipts(200, seed=2):
        values = {path: Decimal(texts[0]) for path, texts in sample.values.items() if "total" in path}
        if {"net_total", "tax_total"} <= values.keys() and "tip" not in sample.values:
            assert values["net_total"] + values["tax_total"] == values["gross_total"]
            checked += 1
    assert checked > 50


def test_receipts_are_of_many_languages_and_have_labels_or_none() -> None:
    samples = list(till_receipts(300, seed=3))

    languages = Counter(sample.facts.language for sample in samples)
    labelled = sum(f"{LABEL}issue_date" in sample.roles for sample in samples)
    assert len(languages) >= 20
    assert 0.2 < labelled / len(samples) < 0.8


def test_the_same_seed_makes_the_same_receipts() -> None:
    first, again = ([to_record(sample) for sample in till_receipts(5, seed=4)] for _ in range(2))

    assert first == again


def test_reading_again_keeps_the_values_and_most_of_the_words() -> None:
    for sample in till_receipts(20, seed=5):
        again = read_again(sample, 1)

        assert again.values == sample.values
        assert len(again) > len(sample) / 2


def test_languages_of_training_have_labels_for_the_number() -> None:
    assert all(KnownTexts(random.Random(seed)).label("numbers") for seed in range(60))
