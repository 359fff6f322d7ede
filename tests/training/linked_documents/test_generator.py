"""Invariants of the generated documents and their truth, whatever the seed, the part and the style."""

import datetime as dt
import os
import subprocess
import sys
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docmill.schemas.types import BankStatement, Invoice
from docmill.training.linked_documents.generator import generate_linked_documents, groups_of
from docmill.training.linked_documents.seeds import Part, made_up_seeds, part_of
from docmill.training.linked_documents.styles import KNOWN, OTHER, Style
from docmill.training.linked_documents.truth import LabelledDocuments, TrueLink

LINKS = 12
STYLES = {style.name: style for style in (KNOWN, OTHER)}
PARTS: tuple[Part, ...] = ("train", "development", "test")


@cache
def generated(seed: int, part: Part, style_name: str) -> LabelledDocuments:
    return generate_linked_documents(
        made_up_seeds(), seed=seed, links=LINKS, part=part, style=STYLES[style_name]
    )


tenants = st.builds(generated, st.integers(0, 3), st.sampled_from(PARTS), st.sampled_from(sorted(STYLES)))


def ids_of(labelled: LabelledDocuments) -> set[str]:
    """The ids of all documents, and of all transactions of statements."""
    ids = {document.id for document in labelled.documents}
    for document in labelled.documents:
        if isinstance(document.data, BankStatement):
            ids |= {f"{document.id}#{number}" for number in range(1, len(document.data.transactions) + 1)}
    return ids


@settings(max_examples=12, deadline=None)
@given(tenants)
def test_every_id_of_the_truth_is_that_of_a_record(labelled: LabelledDocuments) -> None:
    ids = ids_of(labelled)
    truth = labelled.truth

    assert len({document.id for document in labelled.documents}) == len(labelled.documents)
    assert {link.first_id for link in (*truth.links, *truth.duplicates)} <= ids
    assert {link.second_id for link in (*truth.links, *truth.duplicates)} <= ids
    assert {discrepancy.record_id for discrepancy in truth.discrepancies} <= ids


@settings(max_examples=12, deadline=None)
@given(tenants)
def test_a_link_joins_records_of_the_kinds_that_its_relation_names(labelled: LabelledDocuments) -> None:
    types = {document.id: document.document_type for document in labelled.documents}
    short = {"purchase_order": "order", "delivery_note": "delivery", "bank_statement": "payment"}

    for link in labelled.truth.links:
        first, second = (types[each.partition("#")[0]] for each in (link.first_id, link.second_id))
        assert link.relation == f"{short.get(first, first)}_to_{short.get(second, second)}"
        assert ("#" in link.second_id) == link.relation.endswith("_to_payment")


@settings(max_examples=12, deadline=None)
@given(tenants)
def test_groups_are_what_links_and_duplicates_connect_and_do_not_overlap(labelled: LabelledDocuments) -> None:
    truth = labelled.truth
    grouped = [record_id for group in truth.groups for record_id in group]

    assert len(grouped) == len(set(grouped))
    for link in (*truth.links, *truth.duplicates):
        assert any({link.first_id, link.second_id} <= group for group in truth.groups)


@settings(max_examples=12, deadline=None)
@given(tenants)
def test_there_are_ten_records_without_a_link_for_each_true_link(labelled: LabelledDocuments) -> None:
    linked = {record_id for group in labelled.truth.groups for record_id in group}
    statements = {each.id for each in labelled.documents if isinstance(each.data, BankStatement)}

    assert len(labelled.truth.links) >= LINKS
    assert not linked & set(labelled.truth.decoys)
    assert len(labelled.truth.decoys) == 10 * len(labelled.truth.links)
    assert len(ids_of(labelled) - linked - statements) >= 10 * len(labelled.truth.links)


@settings(max_examples=12, deadline=None)
@given(tenants)
def test_a_line_that_differs_is_a_line_of_its_document(labelled: LabelledDocuments) -> None:
    documents = {document.id: document for document in labelled.documents}

    for each in labelled.truth.discrepancies:
        if each.code in ("price", "quantity", "tax") and not each.is_optional:
            data = documents[each.record_id].data
            assert isinstance(data, Invoice)
            assert each.line is not None
            field = {"price": "unit_price", "quantity": "quantity", "tax": "tax_rate"}[each.code]
            assert each.expected != each.found
            assert str(getattr(data.lines[each.line], field)) == each.found


@pytest.mark.parametrize("style", STYLES.values(), ids=list(STYLES))
def test_the_same_seed_gives_the_same_documents_and_another_one_others(style: Style) -> None:
    first, second, third = (
        generate_linked_documents(made_up_seeds(), seed=seed, links=LINKS, style=style) for seed in (5, 5, 6)
    )

    assert first == second
    assert first != third


def test_another_process_makes_the_same_documents() -> None:
    program = """
import hashlib
from docmill.training.linked_documents.generator import generate_linked_documents
from docmill.training.linked_documents.seeds import made_up_seeds
from docmill.training.linked_documents.styles import KNOWN, OTHER
for style in (KNOWN, OTHER):
    made = generate_linked_documents(made_up_seeds(), seed=1, links=60, style=style)
    truth = made.truth
    print(hashlib.sha256(repr((made.documents, truth.discrepancies, truth.decoys)).encode()).hexdigest())
    for link in (*truth.links, *truth.duplicates):
        print(link.first_id, link.second_id, link.relation, sorted(link.edits))
"""

    first, second = (
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    )

    assert first == second


@pytest.mark.parametrize("part", PARTS)
def test_the_vendors_of_linked_documents_belong_to_the_part(part: Part) -> None:
    for style in STYLES:
        labelled = generated(3, part, style)
        linked = {record_id for group in labelled.truth.groups for record_id in group}

        assert {part_of(each.vendor) for each in labelled.documents if each.id in linked} == {part}


def test_the_two_sets_of_edits_have_no_edit_of_values_in_common() -> None:
    known, other = ({edit for edit, _ in style.edits} for style in (KNOWN, OTHER))
    shared = {edit.__name__ for edit in known & other}

    assert shared == {
        "several_deliveries",
        "partial_invoices",
        "subscription",
        "several_invoices",
        "credit_note_for_part",
        "reminder",
        "iban_changed",
        "pay_invoices",
        "credit_note_offset",
        "combined_payment",
        "paid_twice",
        "paid_late",
    }
    assert not set(KNOWN.bank_texts) & set(OTHER.bank_texts)
    assert not set(KNOWN.countries) & set(OTHER.countries)


@pytest.mark.parametrize("style", STYLES.values(), ids=list(STYLES))
def test_every_edit_is_made_to_some_link(style: Style) -> None:
    unseen = {edit.__name__ for edit, _ in style.edits} - {"pay_invoices"}
    for seed in range(30):
        labelled = generate_linked_documents(
            made_up_seeds(), seed=seed, links=300, style=style, decoys_per_link=0
        )
        links = (*labelled.truth.links, *labelled.truth.duplicates)
        unseen -= {edit for link in links for edit in link.edits}
        if not unseen:
            break

    assert unseen == set()


def test_another_account_is_a_discrepancy_only_where_both_accounts_can_be_read() -> None:
    for style in STYLES.values():
        labelled = generate_linked_documents(
            made_up_seeds(), seed=1, links=800, style=style, decoys_per_link=0
        )
        documents = {document.id: document.data for document in labelled.documents}
        changes = [each for each in labelled.truth.discrepancies if each.code == "iban_changed"]

        assert any(not each.is_optional for each in changes)
        for each in changes:
            data = documents[each.record_id]
            assert isinstance(data, Invoice)
            assert each.is_optional or data.payment.iban == each.found


def test_the_text_of_a_document_has_its_number_and_its_sellers_name() -> None:
    for document in generated(2, "train", "known").documents:
        if isinstance(document.data, Invoice):
            assert document.data.seller.name is None or document.data.seller.name[:3] in document.text
            assert isinstance(document.data.issue_date, dt.date)


def test_without_a_priced_seed_there_is_an_error() -> None:
    with pytest.raises(ValueError, match="no seed has a priced line"):
        generate_linked_documents([Invoice()], seed=1, links=1)


def test_links_that_share_a_record_make_one_group() -> None:
    links = [
        TrueLink("order", "invoice", "order_to_invoice"),
        TrueLink("other order", "other invoice", "order_to_invoice"),
        TrueLink("invoice", "payment#1", "invoice_to_payment"),
    ]

    assert groups_of(links) == (
        frozenset({"order", "invoice", "payment#1"}),
        frozenset({"other order", "other invoice"}),
    )


def test_of_an_invoice_paid_twice_the_later_payment_is_told() -> None:
    for seed in (0, 6):
        labelled = generate_linked_documents(made_up_seeds(), seed=seed, links=800, decoys_per_link=0)
        days = {
            f"{document.id}#{number}": transaction.date
            for document in labelled.documents
            if isinstance(document.data, BankStatement)
            for number, transaction in enumerate(document.data.transactions, 1)
        }
        told = [each.record_id for each in labelled.truth.discrepancies if each.code == "paid_twice"]

        assert told
        for record_id in told:
            (invoice_id,) = {link.first_id for link in labelled.truth.links if link.second_id == record_id}
            others = [link.second_id for link in labelled.truth.links if link.first_id == invoice_id]
            paid = [days[each] or dt.date.min for each in others if each in days]
            assert days[record_id] == max(paid)


def test_a_decoy_with_the_new_account_of_a_partner_may_be_named_or_not() -> None:
    labelled = generate_linked_documents(made_up_seeds(), seed=1, links=500)
    decoys = [each for each in labelled.truth.discrepancies if each.record_id in labelled.truth.decoys]

    assert {(each.code, each.is_optional) for each in decoys} == {("iban_changed", True)}
