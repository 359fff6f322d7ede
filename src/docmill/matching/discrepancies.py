"""Differences between linked records in prices, quantities, taxes, lines, totals, accounts and payments."""

from collections.abc import Iterable, Mapping

from docmill.matching.account_discrepancies import find_account_discrepancies
from docmill.matching.billing_discrepancies import find_billing_discrepancies
from docmill.matching.match_record import MatchRecord
from docmill.matching.outcome import Discrepancy, Link
from docmill.matching.payment_discrepancies import find_payment_discrepancies


def find_discrepancies(
    records: Mapping[str, MatchRecord], links: Iterable[Link], *, suggested: Iterable[Link] = ()
) -> list[Discrepancy]:
    """The discrepancies of linked records.

    links: automatic and confirmed ones alone. suggested: those that a person is to decide; what one of them
    would explain is no discrepancy yet.
    """
    links = list(links)
    suggested = [link for link in suggested if link.first_id in records and link.second_id in records]
    found = [
        *find_billing_discrepancies(records, links, suggested),
        *find_payment_discrepancies(records, links, suggested),
        *find_account_discrepancies(records.values()),
    ]
    return sorted(
        found, key=lambda each: (each.record_id, each.code, each.line if each.line is not None else -1)
    )
