"""Decoys look as if they belonged to a deal, and people can tell that they do not."""

import datetime as dt
import random
from dataclasses import replace
from itertools import permutations

import pytest

from docmill.training.linked_documents.companies import make_company
from docmill.training.linked_documents.deals import Deal, Paper
from docmill.training.linked_documents.decoys import DecoyCompanies, make_decoys
from docmill.training.linked_documents.edits.payments import pay_invoices
from docmill.training.linked_documents.edits.references import all_references_missing
from docmill.training.linked_documents.purchases import make_purchase
from docmill.training.linked_documents.resemblance import may_follow, names, pays_equally
from docmill.training.linked_documents.sampling import Sampler
from docmill.training.linked_documents.seeds import made_up_seeds, usable_seeds

SEEDS = range(12)


def make_deal(sampler: Sampler) -> Deal:
    """An order with its delivery note, invoice and payment, all with each other's numbers."""
    owner, partner = (make_company(sampler.random, "DE") for _ in range(2))
    deal = Deal(owner, partner, is_sale=False, seed=sampler.choice(usable_seeds(made_up_seeds(), "train")))
    return pay_invoices(make_purchase(deal, sampler), sampler)


def decoy_papers(deal: Deal, sampler: Sampler) -> list[Paper]:
    """The partner's papers among many decoys of a deal."""
    others = tuple(make_company(random.Random(7), "DE") for _ in range(3))  # noqa: S311 - papers, not secrets
    decoys = make_decoys(deal, 150, sampler, DecoyCompanies(others, others))
    return [each.item for each in decoys if isinstance(each.item, Paper) and each.company == deal.partner]


@pytest.mark.parametrize("seed", SEEDS)
def test_no_two_decoys_of_a_deal_fit_each_other(seed: int) -> None:
    sampler = Sampler(f"decoys {seed}", {})
    papers = decoy_papers(make_deal(sampler), sampler)

    fitting = [
        (first.key, second.key)
        for first, second in permutations(papers, 2)
        if may_follow(second, first, is_only=True)
    ]

    assert len(papers) > 5
    assert fitting == []


@pytest.mark.parametrize("seed", SEEDS)
def test_no_decoy_fits_a_paper_that_names_nothing(seed: int) -> None:
    sampler = Sampler(f"decoys {seed}", {})
    deal = all_references_missing(make_deal(sampler), sampler)
    papers = decoy_papers(deal, sampler)

    assert not [paper.key for paper in papers for true in deal.papers if may_follow(true, paper)]
    assert not [paper.key for paper in papers for true in deal.papers if may_follow(paper, true)]


def test_the_papers_of_a_deal_fit_each_other_until_a_number_goods_or_days_part_them() -> None:
    sampler = Sampler("papers", {})
    deal = make_deal(sampler)
    order, delivery, invoice = deal.papers
    nameless = invoice.with_values(order_number=None, delivery_note_number=None)

    assert names(invoice, order)
    assert not names(nameless, order)
    assert may_follow(invoice, order)
    assert may_follow(nameless, order)
    assert may_follow(nameless, delivery)
    assert not may_follow(order, invoice)
    assert not may_follow(invoice.with_values(order_number="other"), order)
    assert not may_follow(invoice.with_values(delivery_note_number=None, order_number="other"), delivery)
    assert not may_follow(nameless.with_values(lines=(*invoice.lines, invoice.lines[0])), order)
    late = nameless.with_values(issue_date=order.day + dt.timedelta(days=60))
    assert not may_follow(late, order)
    assert may_follow(late, order, is_only=True)


def test_a_payment_that_cites_nothing_pays_an_invoice_of_the_same_amount_and_days_as_well() -> None:
    sampler = Sampler("payment", {})
    deal = make_deal(sampler)
    invoice = deal.of_type("invoice")[0]
    booking = replace(deal.bookings[0], numbers=(), day=invoice.value("due_date"))
    later = invoice.with_values(issue_date=booking.day + dt.timedelta(days=1))

    assert pays_equally(booking, invoice, invoice.with_values(number="other"))
    assert not pays_equally(replace(booking, numbers=("other",)), invoice, invoice)
    assert not pays_equally(booking, invoice, invoice.with_values(gross_total=invoice.gross + 1))
    assert not pays_equally(booking, invoice, later)
