import random
from decimal import Decimal

import numpy as np
from tools.page_model.augment import vary
from tools.page_model.made_up import made_up_demo_papers
from tools.page_model.samples import PageFacts, Sample, to_record
from tools.page_model.swaps import ValuePool, change_dates, multiply_amounts, swap_texts, words_of

LINES = (
    (("Blue", "seller.name"), ("Cafe", "seller.name")),
    (("Coffee", "none"), ("2.50", "items.amount")),
    (("Cake", "none"), ("3.25", "items.amount")),
    (("Total", "label:gross_total"), ("5.75", "gross_total"), ("19.00", "none"), ("%", "none")),
    (("03/31/2021", "issue_date"), ("10:15", "time")),
)


def receipt() -> Sample:
    words = [(text, role, line) for line, row in enumerate(LINES) for text, role in row]
    boxes = [
        (0.1 + 0.2 * place, 0.05 * line, 0.2 + 0.2 * place, 0.05 * line + 0.02)
        for line, row in enumerate(LINES)
        for place in range(len(row))
    ]
    return Sample(
        key="one",
        source="test",
        group="one",
        kind="receipt",
        facts=PageFacts("receipt", "us", "en", "USD"),
        texts=[text for text, _, _ in words],
        boxes=np.array(boxes, np.float32),
        lines=np.array([line for _, _, line in words], np.int32),
        roles=[role for _, role, _ in words],
        goes_on=[text == "Cafe" for text, _, _ in words],
    )


def test_sums_hold_after_amounts_were_multiplied() -> None:
    for seed in range(10):
        words = words_of(receipt())

        multiply_amounts(words, random.Random(seed))

        coffee, cake, total = (Decimal(words[index].text) for index in (3, 5, 7))
        assert coffee + cake == total
        assert words[8].text == "19.00", "a rate is no amount"


def test_a_date_keeps_its_form() -> None:
    for seed in range(10):
        words = words_of(receipt())

        change_dates(words, random.Random(seed))

        month, day, year = map(int, words[10].text.split("/"))
        assert 1 <= month <= 12 < day <= 28
        assert 2008 <= year < 2028
        assert len(words[10].text) == len("03/31/2021")


def test_names_are_taken_from_other_pages() -> None:
    sample = receipt()
    pool = ValuePool()
    pool.texts["firm", "en"] = [f"Shop Number {index}" for index in range(6)]

    pages = [swap_texts(words_of(sample), sample, pool, random.Random(seed)) for seed in range(10)]

    changed = [words for words in pages if words[0].text == "Shop"]
    assert 5 <= len(changed) < 10, "now and then the name stays"
    for words in changed:
        assert [word.role for word in words[:4]] == ["seller.name"] * 3 + ["none"]
        assert [word.goes_on for word in words[:3]] == [False, True, True]
        assert all(word.box[2] <= 1 for word in words)


def test_the_same_seed_makes_the_same_variation_and_another_one_another() -> None:
    samples = list(made_up_demo_papers(4, seed=9))
    pool = ValuePool.of(samples)

    first, again, other = (vary(samples[0], pool, seed) for seed in (1, 1, 2))

    assert to_record(first) == to_record(again)
    assert first.texts != other.texts


def test_variations_are_sound_pages() -> None:
    samples = list(made_up_demo_papers(6, seed=9))
    pool = ValuePool.of(samples)
    for sample in samples:
        for seed in range(5):
            varied = vary(sample, pool, seed)

            assert len(varied.texts) == len(varied.roles) == len(varied.goes_on) == len(varied.boxes)
            assert (np.diff(varied.lines) >= 0).all()
            assert (varied.boxes[:, :2] <= varied.boxes[:, 2:]).all()
            assert all(varied.texts)
            assert set(varied.roles) <= {*sample.roles}
