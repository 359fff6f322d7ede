"""Records for tests of matching: a small business between Sommer GmbH and Kunde AG."""

from collections.abc import Sequence
from typing import Any

from docmill.matching import records_of
from docmill.matching.discrepancies import find_discrepancies
from docmill.matching.match_record import MatchRecord
from docmill.matching.outcome import Link, Relation

SELLER = {"name": "Sommer GmbH", "vat_id": "DE136695976"}
BUYER = {"name": "Kunde AG"}
ACCOUNT = "DE89370400440532013000"
OTHER_ACCOUNT = "AT611904300234573201"


def line(description: str, quantity: str, unit_price: str | None = None, **values: str) -> dict[str, Any]:
    """A line item; without a price for a delivery note."""
    return {"description": description, "quantity": quantity, "unit_price": unit_price, **values}


LINES = [line("Schraube M4 verzinkt", "100", "5.00"), line("Mutter M4 Edelstahl", "50", "10.00")]


def record(id_: str, document_type: str, **values: Any) -> MatchRecord:  # noqa: ANN401
    """One record of a document of Sommer for Kunde over 1190 EUR, with other values where they are given."""
    totals = {} if document_type == "delivery_note" else {"net_total": "1000.00", "gross_total": "1190.00"}
    text = values.pop("text", "")
    data = {"seller": SELLER, "buyer": BUYER, "currency": "EUR", **totals, **values}
    (made,) = records_of(id_, document_type, data, text)
    return made


def order(id_: str = "order", **values: Any) -> MatchRecord:  # noqa: ANN401
    """An order of 5 January 2026."""
    return record(
        id_, "purchase_order", **{"number": "PO-4711", "issue_date": "2026-01-05", "lines": LINES, **values}
    )


def delivery(id_: str = "delivery", **values: Any) -> MatchRecord:  # noqa: ANN401
    """A delivery note of a week later, of all that was ordered."""
    lines = [{**each, "unit_price": None} for each in LINES]
    return record(
        id_,
        "delivery_note",
        **{
            "number": "LS-88123",
            "issue_date": "2026-01-12",
            "order_number": "4711",
            "lines": lines,
            **values,
        },
    )


def invoice(id_: str = "invoice", **values: Any) -> MatchRecord:  # noqa: ANN401
    """An invoice of ten days after the order."""
    return record(
        id_,
        "invoice",
        **{
            "number": "RE-2026-0815",
            "issue_date": "2026-01-15",
            "order_number": "PO 4711",
            "lines": LINES,
            **values,
        },
    )


def payments(*transactions: dict[str, Any], id_: str = "statement") -> list[MatchRecord]:
    """The payments of a statement of Kunde's account."""
    return records_of(
        id_, "bank_statement", {"iban": OTHER_ACCOUNT, "currency": "EUR", "transactions": list(transactions)}
    )


def paid(amount: str = "1190.00", **values: Any) -> dict[str, Any]:  # noqa: ANN401
    """A payment from Kunde to Sommer at the end of January that names the invoice."""
    return {
        "date": "2026-01-30",
        "amount": f"-{amount}",
        "counterparty": "SOMMER GMBH",
        "description": "RE-2026-0815",
        **values,
    }


Ends = tuple[str, str, Relation]
"""The ids of two records and their relation."""


def discrepancies(
    records: Sequence[MatchRecord], links: Sequence[Ends], suggested: Sequence[Ends] = ()
) -> list[tuple[str, str, int | None, str]]:
    """Code, record, line and difference of what linked records differ in."""
    found = find_discrepancies(
        {record.id: record for record in records},
        [Link(*link, 1.0, "automatic") for link in links],
        suggested=[Link(*link, 0.5, "suggested") for link in suggested],
    )
    return [(each.code, each.record_id, each.line, each.difference) for each in found]
