"""The real chains of documents: they are read completely, and their truth names records that are there."""

import pytest
from bench.accuracy.document_links import match_by_docmill
from bench.data.link_scores import LinkScores
from bench.data.real_chains import UBL, order_x_chains, ubl_chain
from bench.peers import exact_references

pytestmark = pytest.mark.skipif(not UBL.exists(), reason="the real documents are not part of docmill")


def test_the_chain_of_ubl_has_an_order_despatch_receipt_invoice_credit_note_and_payment() -> None:
    chain = ubl_chain()
    numbers = {document.id: getattr(document.data, "number", None) for document in chain.documents}

    assert numbers == {
        "order": "AEG012345",
        "despatch": "565899",
        "receipt advice": "658398",
        "invoice": "A00095678",
        "credit note": "CN758494",
        "international order": "AEG012345",
        "remittance": None,
    }
    records = {record_id for link in chain.truth.links for record_id in (link.first_id, link.second_id)}
    assert records == (set(numbers) | {"remittance#1"}) - {"international order", "remittance"}
    assert chain.truth.groups == (frozenset(records),)


def test_equal_numbers_find_four_of_the_seven_links_and_no_other() -> None:
    scores = LinkScores()

    chain = ubl_chain()
    scores.add(exact_references.match(chain.documents), chain.truth)

    assert (scores.links.right, scores.links.given, scores.links.true) == (4, 4, 7)
    assert scores.false_automatic == 0


def test_orders_of_order_x_come_with_their_changes_and_responses() -> None:
    chains = order_x_chains()

    assert {document.document_type for document in chains.documents} == {"purchase_order"}
    assert [sorted(getattr(document.data, "number", "") for document in chains.documents)] == [
        ["1861727", "1861728", "PO123456789", "PO123456789-C02", "PO123456789-R01", "R3659487"]
    ]
    assert [len(group) for group in chains.truth.groups] == [3, 2]


def test_docmill_links_the_orders_of_order_x_completely_and_nothing_else() -> None:
    scores = LinkScores()

    chains = order_x_chains()
    scores.add(match_by_docmill(chains.documents), chains.truth)

    assert (scores.links.recall, scores.links.precision, scores.groups.recall) == (1, 1, 1)


def test_docmill_shows_the_whole_chain_of_ubl_and_links_no_order_that_shares_its_number() -> None:
    scores = LinkScores()

    chain = ubl_chain()
    scores.add(match_by_docmill(chain.documents), chain.truth)

    assert scores.candidates.recall == 1
    assert scores.false_automatic == 0
    assert (scores.links.right, scores.links.true) == (7, 7)
