"""Edits of how papers and payments name the companies, and of the errors of recognition in them."""

import random
from collections.abc import Callable, Mapping
from dataclasses import replace

from docmill.training.linked_documents import name_variants
from docmill.training.linked_documents.companies import Company
from docmill.training.linked_documents.deals import Deal, Paper
from docmill.training.linked_documents.identifiers import make_iban
from docmill.training.linked_documents.misreading import CONFUSIONS, OTHER_CONFUSIONS, misread, misread_once
from docmill.training.linked_documents.sampling import Sampler

NameVariant = Callable[[Company, random.Random], str]

_READ = (
    "number",
    "order_number",
    "delivery_note_number",
    "contract_number",
    "customer_number",
    "preceding_invoice_number",
    "invoice_number",
)
_RATES = (0.003, 0.008, 0.015, 0.03)
_OTHER_RATES = (0.005, 0.02, 0.045)


def legal_form_dropped(deal: Deal, sampler: Sampler) -> Deal:
    return _renamed(deal, sampler, name_variants.drop_legal_form)


def legal_form_spelt_out(deal: Deal, sampler: Sampler) -> Deal:
    return _renamed(deal, sampler, name_variants.spell_out_legal_form)


def name_transliterated(deal: Deal, sampler: Sampler) -> Deal:
    return _renamed(deal, sampler, name_variants.transliterate)


def name_abbreviated(deal: Deal, sampler: Sampler) -> Deal:
    return _renamed(deal, sampler, name_variants.abbreviate)


def name_in_capitals(deal: Deal, sampler: Sampler) -> Deal:
    return _renamed(deal, sampler, name_variants.capitals)


def name_cut_to_27(deal: Deal, sampler: Sampler) -> Deal:
    return _renamed_in_payment(deal, sampler, name_variants.truncate_27)


def name_cut_to_35(deal: Deal, sampler: Sampler) -> Deal:
    return _renamed_in_payment(deal, sampler, name_variants.truncate_35)


def trading_name_used(deal: Deal, sampler: Sampler) -> Deal:
    return _renamed(deal, sampler, name_variants.trading_name)


def vat_id_missing(deal: Deal, sampler: Sampler) -> Deal:
    """Half of the papers have no VAT number."""
    for paper in deal.papers:
        for side in ("seller", "buyer"):
            if paper.party(side).vat_id and sampler.chance(0.5):
                deal = deal.with_paper((deal.paper(paper.key) or paper).with_party(side, vat_id=None))
    return deal


def vat_id_misread(deal: Deal, sampler: Sampler) -> Deal:
    papers = [paper for paper in deal.papers if paper.party("seller").vat_id]
    if not papers:
        return deal
    paper = sampler.choice(papers)
    vat_id = misread_once(paper.party("seller").vat_id or "", sampler.random)
    return deal.with_paper(paper.with_party("seller", vat_id=vat_id))


def iban_missing(deal: Deal, sampler: Sampler) -> Deal:
    """The invoices show no IBAN."""
    del sampler
    for paper in deal.of_type("invoice", "credit_note", "reminder"):
        deal = deal.with_paper(paper.with_payment(iban=None, bic=None))
    return deal


def iban_misread(deal: Deal, sampler: Sampler) -> Deal:
    papers = [paper for paper in deal.of_type("invoice") if paper.payment.iban]
    if not papers or deal.is_last:
        return deal
    paper = sampler.choice(papers)
    return deal.with_paper(paper.with_payment(iban=misread_once(paper.payment.iban or "", sampler.random)))


def payment_without_account(deal: Deal, sampler: Sampler) -> Deal:
    """The statement shows neither the partner's IBAN nor its name in a field of its own."""
    if not deal.bookings:
        return deal
    booking = sampler.choice(deal.bookings)
    return deal.with_booking(replace(booking, iban=""))


def iban_changed(deal: Deal, sampler: Sampler) -> Deal:
    """The partner's last invoice asks for payment to another account than those before."""
    invoices = sorted(deal.of_type("invoice"), key=lambda invoice: invoice.day)
    if deal.is_sale or not deal.is_last or len(invoices) < 2 or invoices[-1].day == invoices[-2].day:
        return deal
    account = make_iban(deal.partner.country, sampler.random)
    last = invoices[-1]
    deal = deal.with_paper(last.with_payment(iban=account))
    return deal.with_discrepancy("iban_changed", last.key, expected=deal.partner.iban, found=account)


def scanned(deal: Deal, sampler: Sampler) -> Deal:
    """Some papers are scans, with errors of recognition in numbers, names and descriptions."""
    for paper in deal.papers:
        if sampler.chance(0.6):
            deal = deal.with_paper(read_with_errors(paper, sampler, sampler.choice(_RATES), CONFUSIONS))
    return deal


def decimal_mark_lost(deal: Deal, sampler: Sampler) -> Deal:
    """The totals of a paper are read as a hundredfold."""
    papers = [paper for paper in deal.of_type("invoice", "purchase_order") if paper.gross]
    if not papers:
        return deal
    paper = sampler.choice(papers)
    deal = deal.with_paper(
        paper.with_values(
            gross_total=paper.gross * 100, amount_due=paper.gross * 100 if paper.value("amount_due") else None
        )
    )
    affected = {paper.key} | {link.second_id for link in deal.links if link.first_id == paper.key}
    for key in sorted(affected):
        for code in ("underpaid", "overpaid", "over_billed", "under_billed"):
            deal = deal.with_discrepancy(code, key, is_optional=True)
    return deal


def read_with_errors(
    paper: Paper, sampler: Sampler, rate: float, confusions: Mapping[str, tuple[str, ...]]
) -> Paper:
    """The paper as recognised from a picture."""

    def read(text: str) -> str:
        return misread(text, sampler.random, rate=rate, confusions=confusions)

    paper = paper.with_values(**{name: read(paper.text(name)) or None for name in _READ if paper.text(name)})
    for side in ("seller", "buyer"):
        party = paper.party(side)
        if party.name:
            vat_id = read(party.vat_id) if party.vat_id else None
            paper = paper.with_party(side, name=read(party.name), vat_id=vat_id)
    if paper.payment.iban:
        paper = paper.with_payment(iban=read(paper.payment.iban))
    if paper.lines:
        lines = tuple(
            line.model_copy(update={"description": read(line.description or "")}) for line in paper.lines
        )
        paper = paper.with_values(lines=lines)
    return replace(paper, is_scanned=True)


# The other set, for measuring only.


def scanned_otherwise(deal: Deal, sampler: Sampler) -> Deal:
    """Some papers are read by another recogniser, with other confusions and rates."""
    for paper in deal.papers:
        if sampler.chance(0.7):
            deal = deal.with_paper(
                read_with_errors(paper, sampler, sampler.choice(_OTHER_RATES), OTHER_CONFUSIONS)
            )
    return deal


def name_by_initials(deal: Deal, sampler: Sampler) -> Deal:
    return _renamed(deal, sampler, name_variants.initials)


def name_last_word_first(deal: Deal, sampler: Sampler) -> Deal:
    return _renamed(deal, sampler, name_variants.last_word_first)


def name_legal_form_first(deal: Deal, sampler: Sampler) -> Deal:
    return _renamed(deal, sampler, name_variants.legal_form_first)


def name_with_branch(deal: Deal, sampler: Sampler) -> Deal:
    return _renamed(deal, sampler, name_variants.with_branch)


def name_letters_joined(deal: Deal, sampler: Sampler) -> Deal:
    return _renamed_in_payment(deal, sampler, name_variants.letters_joined)


def name_cut_to_18(deal: Deal, sampler: Sampler) -> Deal:
    return _renamed_in_payment(deal, sampler, name_variants.cut_to_18)


def identities_missing(deal: Deal, sampler: Sampler) -> Deal:
    """No paper has a VAT number or an IBAN."""
    del sampler
    for paper in deal.papers:
        for side in ("seller", "buyer"):
            if paper.party(side).vat_id:
                paper = paper.with_party(side, vat_id=None)  # noqa: PLW2901 - one change after another
        if paper.payment.iban:
            paper = paper.with_payment(iban=None, bic=None)  # noqa: PLW2901
        deal = deal.with_paper(paper)
    return deal


def _renamed(deal: Deal, sampler: Sampler, variant: NameVariant) -> Deal:
    """Spell the partner's name otherwise on one paper or payment."""
    name = variant(deal.partner, sampler.random)
    if deal.bookings and sampler.chance(0.4):
        return deal.with_booking(replace(sampler.choice(deal.bookings), counterparty=name))
    side = "buyer" if deal.is_sale else "seller"
    papers = [paper for paper in deal.papers if paper.party(side).name]
    return deal.with_paper(sampler.choice(papers).with_party(side, name=name)) if papers else deal


def _renamed_in_payment(deal: Deal, sampler: Sampler, variant: NameVariant) -> Deal:
    if not deal.bookings:
        return deal
    name = variant(deal.partner, sampler.random)
    return deal.with_booking(replace(sampler.choice(deal.bookings), counterparty=name))
