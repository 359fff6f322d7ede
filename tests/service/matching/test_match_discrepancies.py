"""What stored links say of the discrepancies of a cluster."""

from datetime import UTC, datetime

from tests.matching.records import ACCOUNT, OTHER_ACCOUNT, invoice, paid, payments

from docmill.matching.match_record import MatchRecord
from docmill.service.match_discrepancies import cluster_discrepancies
from docmill.service.store.match_decisions import Decision
from docmill.service.store.match_links import LinkRow

CLUSTER = {"invoice", "statement#1"}


def link(first: str, second: str, state: str | None, decision: Decision | None = None) -> LinkRow:
    return LinkRow(
        first,
        second,
        "invoice_to_payment",
        state,  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        0.5,
        [],
        decision,
        None,
        None,
        datetime(2026, 2, 1, tzinfo=UTC),
    )


def records(*made: MatchRecord) -> dict[str, MatchRecord]:
    return {record.id: record for record in made}


def test_a_suggested_link_explains_what_is_missing_until_it_is_declined() -> None:
    contents = records(invoice(), *payments(paid("590.00"), paid("600.00", date="2026-02-10")))
    taken = link("invoice", "statement#1", "automatic")
    suggested = link("invoice", "statement#2", "suggested")
    declined = link("invoice", "statement#2", "suggested", "declined")

    assert cluster_discrepancies(CLUSTER, contents, [taken, suggested]) == []
    (underpaid,) = cluster_discrepancies(CLUSTER, contents, [taken, declined])
    assert (underpaid.code, underpaid.record_id) == ("underpaid", "statement#1")


def test_nothing_is_told_of_records_outside_the_cluster_or_that_are_gone() -> None:
    other = invoice("other", issue_date="2026-03-01", payment={"iban": OTHER_ACCOUNT})
    contents = records(invoice(payment={"iban": ACCOUNT}), other, *payments(paid(), paid("5.00")))
    links = [
        link("invoice", "statement#1", "automatic"),
        link("other", "statement#1", "suggested"),
        link("other", "statement#2", "automatic"),
        link("invoice", "gone#1", "suggested"),
        link("gone", "statement#1", "automatic"),
    ]

    assert cluster_discrepancies({*CLUSTER, "gone"}, contents, links) == []
