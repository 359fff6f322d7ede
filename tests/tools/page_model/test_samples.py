from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from bench.accuracy.trust import is_set_aside
from bench.data.receipts import SROIE, documents
from tools.page_model.build import LabelCounts
from tools.page_model.made_up import made_up_demo_papers, made_up_party_pages, made_up_receipts
from tools.page_model.samples import Sample, read_samples, to_record, write_samples
from tools.page_model.sources import is_kept_back, sroie_samples


def made_up() -> list[Sample]:
    return [
        *made_up_receipts(2, seed=3),
        *made_up_party_pages(2, seed=3),
        *made_up_demo_papers(2, seed=3),
    ]


def test_samples_are_the_same_after_they_were_written(tmp_path: Path) -> None:
    samples = made_up()

    count = write_samples(tmp_path / "made-up.jsonl.gz", samples)
    again = list(read_samples(tmp_path / "made-up.jsonl.gz"))

    assert count == len(samples)
    assert [to_record(sample) for sample in again] == [to_record(sample) for sample in samples]


def test_the_same_seed_makes_the_same_samples() -> None:
    assert [to_record(sample) for sample in made_up()] == [to_record(sample) for sample in made_up()]


def test_a_sample_has_a_role_for_each_word_and_boxes_in_its_width() -> None:
    for sample in made_up():
        assert len(sample.texts) == len(sample.roles) == len(sample.goes_on) == len(sample.boxes)
        assert (sample.boxes[:, 0] <= sample.boxes[:, 2]).all()
        assert (np.diff(sample.lines) >= 0).all()
        assert set(sample.values) & set(sample.roles)


def test_counts_say_on_how_many_papers_a_field_was_found() -> None:
    counts = LabelCounts()

    list(counts.passing(made_up_receipts(4, seed=3)))

    assert str(counts).startswith("4 pages")
    assert "gross_total" in str(counts)


@pytest.mark.skipif(not SROIE.exists(), reason="the real receipts are not part of docmill")
def test_real_receipts_are_labelled() -> None:
    samples = list(islice(sroie_samples(documents(), "sroie"), 20))

    assert sum("gross_total" in sample.roles for sample in samples) >= 18
    assert all(sample.group for sample in samples)


@pytest.mark.parametrize("source", ["world", "world-photographed", "einvoices", "adbuy"])
def test_nothing_learns_from_vendors_that_are_set_aside(source: str) -> None:
    page = next(made_up_receipts(1, seed=3))
    vendors = [f"Vendor {number}" for number in range(40)]

    kept_back = {vendor for vendor in vendors if is_kept_back(replace(page, source=source, group=vendor))}

    assert kept_back == {vendor for vendor in vendors if is_set_aside(vendor)}
    assert kept_back
