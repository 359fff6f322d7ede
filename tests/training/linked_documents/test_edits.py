"""Edits of values: names, numbers and errors of recognition."""

import datetime as dt
import random
from collections import Counter
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stdnum import get_cc_module, iban

from docmill.schemas.types import Line
from docmill.training.linked_documents import name_variants
from docmill.training.linked_documents.companies import LEGAL_FORMS, make_company, near_company
from docmill.training.linked_documents.edits.structure import split_lines
from docmill.training.linked_documents.identifiers import make_iban, make_vat_id
from docmill.training.linked_documents.misreading import misread, misread_once, mistype, transpose
from docmill.training.linked_documents.number_series import NumberSeries, next_in_digits
from docmill.training.linked_documents.sampling import Sampler


def seeded(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - papers, not secrets


NUMBERS = st.from_regex(r"[A-Z]{0,3}-?[0-9]{3,8}", fullmatch=True)


@pytest.mark.parametrize("country", sorted(LEGAL_FORMS))
def test_vat_numbers_and_ibans_have_valid_check_digits(country: str) -> None:
    random_ = seeded(1)

    assert iban.is_valid(make_iban(country, random_))
    vat_id = make_vat_id(country, random_)
    module: Any = get_cc_module(country.lower(), "vat")
    assert vat_id == "" if country == "US" else module.is_valid(vat_id)


@settings(deadline=None)
@given(NUMBERS, st.integers(0, 1000))
def test_a_mistyped_number_differs_in_one_character(number: str, seed: int) -> None:
    mistyped = mistype(number, seeded(seed))

    assert len(mistyped) == len(number)
    assert sum(old != new for old, new in zip(number, mistyped, strict=True)) == 1


@settings(deadline=None)
@given(NUMBERS, st.integers(0, 1000))
def test_a_transposed_number_has_the_same_characters(number: str, seed: int) -> None:
    assert sorted(transpose(number, seeded(seed))) == sorted(number)


def test_recognition_confuses_what_looks_alike_and_nothing_at_a_rate_of_none() -> None:
    random_ = seeded(3)

    assert misread("Rechnung 10583", random_, rate=0) == "Rechnung 10583"
    assert {misread_once("5", random_) for _ in range(9)} == {"S"}
    assert misread("Darm", seeded(2), rate=1) != "Darm"


def test_a_series_never_gives_a_number_twice_and_knows_its_neighbours() -> None:
    series = NumberSeries(seeded(4), {"invoice": ("RE-{n:05}",)})
    day = dt.date(2026, 1, 2)
    first = series.next_number("Meyer GmbH", "invoice", day)
    neighbour = series.neighbour("Meyer GmbH", "invoice", first, day)
    others = [series.next_number("Meyer GmbH", "invoice", day) for _ in range(50)]

    assert len({first, neighbour, *others}) == 52
    assert next_in_digits("RE-00041/26", 1) == "RE-00041/27"
    assert next_in_digits("RE", 1) == ""


def test_spelling_variants_of_a_name() -> None:
    random_ = seeded(5)
    company = make_company(random_, "DE")
    variants = {
        variant(company, random_)
        for variant in (
            name_variants.drop_legal_form,
            name_variants.capitals,
            name_variants.truncate_27,
            name_variants.truncate_35,
            name_variants.abbreviate,
            name_variants.spell_out_legal_form,
        )
    }

    assert company.short_name in variants
    assert company.name.upper() in variants
    assert len(name_variants.truncate_27(company, random_)) <= 27
    assert len(name_variants.truncate_35(company, random_)) <= 35
    assert len(variants) >= 4


def test_a_company_with_a_near_name_is_another_one() -> None:
    random_ = seeded(6)
    company = make_company(random_, "DE")

    near = near_company(company, random_)

    assert near.short_name != company.short_name
    assert near.vat_id != company.vat_id
    assert near.iban != company.iban


@settings(deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(2, 3), st.integers(0, 500))
def test_parts_of_goods_sum_up_to_them(quantities: list[int], parts: int, seed: int) -> None:
    lines = [
        Line(position=str(position), quantity=Decimal(quantity), unit_price=Decimal(2))
        for position, quantity in enumerate(quantities)
    ]

    shares = split_lines(lines, parts, Sampler(str(seed), {}))

    assert 1 <= len(shares) <= parts
    assert all(shares)
    totals = Counter[str]()
    for line in (line for share in shares for line in share):
        totals[line.position or ""] += int(line.quantity or 0)
    assert totals == {line.position: line.quantity for line in lines}
