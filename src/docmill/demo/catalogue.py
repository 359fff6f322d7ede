"""All samples, as tables of the TOML files in `documents`: one for each paper, with what is printed on it."""

import tomllib
from calendar import monthrange
from collections.abc import Callable, Mapping
from decimal import Decimal
from importlib import resources
from typing import Any, cast

from docmill.demo import companies, wording
from docmill.demo.canvas import A4
from docmill.demo.plan import (
    Bill,
    Correspondence,
    House,
    Letter,
    Paper,
    PaySheet,
    Plan,
    Statement,
    account,
    included_taxes,
    lines,
    taxes_of,
    total,
    without,
)
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import BankStatement, Fields, Transaction

_FILES = (
    "invoices",
    "bills",
    "trade",
    "receipts",
    "statements",
    "neighbours",
    "credit_notes",
    "payslips",
    "quotes",
    "letters",
)


def plans() -> list[Plan]:
    """Every sample that `generate` makes, in the order of its making."""
    folder = resources.files("docmill.demo") / "documents"
    made: list[Plan] = []
    for file in _FILES:
        for name, sample in tomllib.loads((folder / f"{file}.toml").read_text("utf-8")).items():
            made.append(make_plan(name, sample))
    return made


def make_plan(name: str, sample: Mapping[str, Any]) -> Plan:
    """The paper of a table of the files in `documents`."""
    return Plan(name, sample["form"], sample["layout"], sample["document_type"], _maker(sample)(sample))


def _maker(sample: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], Paper]:
    """The function that draws the paper of a table, chosen by a key that only such papers have."""
    makers = {"bookings": _statement, "earnings": _pay_sheet, "paragraphs": _correspondence}
    return next((make for key, make in makers.items() if key in sample), _letter)


def _correspondence(sample: Mapping[str, Any]) -> Correspondence:
    """The letter, reminder or contract of a table.

    sides: the fields of sender and recipient. date, title: where they stand on the paper; the fields say
    whether they are in the truth.
    """
    sender, recipient = (getattr(companies, sample[side]) for side in ("sender", "recipient"))
    fields = {**sample["fields"], "issue_date": sample["date"]}
    schema = REGISTRY[sample["document_type"]].fields
    for name, house in zip(sample["sides"], (sender, recipient), strict=True):
        has_address = hasattr(schema.model_fields[name].default, "address")
        fields[name] = {"name": house.name} | ({"address": ", ".join(house.address)} if has_address else {})
    if "subject" in sample:
        fields["subject"] = sample["subject"]
    return Correspondence(
        cast("Fields", schema.model_validate(fields)),
        sender,
        recipient,
        getattr(wording, sample["wording"]),
        sample["title"],
        tuple(sample["paragraphs"].strip().splitlines()),
        tuple(sample.get("size", A4)),
    )


def _letter(sample: Mapping[str, Any]) -> Letter:
    """The letter, bill or receipt of a table.

    sender, recipient: names in `companies`. vat: the sides whose VAT number is printed. lines: see
    `plan.lines`; without tax_rates each line has its own. tax_included: whether their amounts include it.
    totals: the sums that are printed. line_fields_not_printed: fields that the lines do not show. kind: of
    the title, if that is not the document type's. fields: all other fields; in `payment` an IBAN or BIC that
    is `true` is the sender's, and `printed_method` are the words for the code in `method`.
    """
    document_type: str = sample["document_type"]
    is_receipt = document_type == "receipt"
    sender, recipient = (getattr(companies, sample.get(side, "ANYBODY")) for side in ("sender", "recipient"))
    seller, buyer = (recipient, sender) if document_type == "purchase_order" else (sender, recipient)
    sides = {"seller": seller} if is_receipt else {"seller": seller, "buyer": buyer}
    bought = lines(*sample["lines"].strip().splitlines(), numbered=sample.get("numbered", "{}"))
    is_included = sample.get("tax_included", is_receipt)
    taxes = (included_taxes if is_included else taxes_of)(bought, *sample.get("tax_rates", ()))
    fields = dict(sample["fields"])
    sums = {**total(taxes), "amount_due": total(taxes)["gross_total"] + Decimal(fields.get("tip", 0))}
    is_priced = any(line.net_amount is not None for line in bought)
    totals = sample.get("totals", ("net_total", "tax_total", "gross_total")) if is_priced else ()
    fields |= {name: sums[name] for name in totals}
    fields |= {side: house.party(vat=side in sample.get("vat", ["seller"])) for side, house in sides.items()}
    paid = dict(fields.get("payment", {}))
    printed_method = paid.pop("printed_method", "")
    if paid:
        fields["payment"] = {
            key: getattr(sender, key) if value is True else value for key, value in paid.items()
        }
    fields["lines"] = without(bought, *sample.get("line_fields_not_printed", ()))
    return Letter(
        cast("Bill", REGISTRY[document_type].fields.model_validate(fields)),
        sample.get("kind", document_type),
        sender,
        recipient,
        getattr(wording, sample["wording"]),
        taxes if "tax_total" in totals else (),
        tuple(sample.get("articles", ())),
        sample.get("opening", ""),
        tuple(sample.get("closing", ())),
        tuple(sample.get("size", A4)),
        printed_method,
    )


def _statement(sample: Mapping[str, Any]) -> Statement:
    """The bank statement of a table.

    bookings: "date | amount | description | counterparty | reference | IBAN".
    """
    bank, holder = getattr(companies, sample["sender"]), getattr(companies, sample["recipient"])
    names = ("date", "amount", "description", "counterparty", "reference", "iban")
    bookings = tuple(
        Transaction(**dict(zip(names, (cell.strip() or None for cell in row.split("|")), strict=False)))
        for row in sample["bookings"].strip().splitlines()
    )
    opening = Decimal(sample["fields"]["opening_balance"])
    closing = sum((booking.amount or Decimal(0) for booking in bookings), opening)
    fields = BankStatement.model_validate(
        {**sample["fields"], "iban": holder.iban, "closing_balance": closing, "transactions": bookings}
    )
    return Statement(fields, bank, holder, getattr(wording, sample["wording"]))


def _pay_sheet(sample: Mapping[str, Any]) -> PaySheet:
    """The payslip of a table. account: a pattern of the employee's IBAN. paid_on: the day of the month."""
    employer, employee = getattr(companies, sample["sender"]), House(**sample["employee"])
    earnings = tuple(zip(("basic_pay", "bonus"), map(Decimal, sample["earnings"]), strict=True))
    kept = tuple(
        zip(
            ("income_tax", "social_contributions", "pension"), map(Decimal, sample["deductions"]), strict=True
        )
    )
    gross, deductions = (sum((amount for _, amount in rows), Decimal(0)) for rows in (earnings, kept))
    month = sample["month"]
    fields = REGISTRY[sample["document_type"]].fields.model_validate(
        {
            **sample["fields"],
            "employer": {"name": employer.name, "address": ", ".join(employer.address)},
            "employee": {"name": employee.name, "address": ", ".join(employee.address)},
            "period_start": month,
            "period_end": month.replace(day=monthrange(month.year, month.month)[1]),
            "payment_date": month.replace(day=sample["paid_on"]),
            "gross_pay": gross,
            "income_tax": kept[0][1],
            "social_contributions": kept[1][1],
            "total_deductions": deductions,
            "net_pay": gross - deductions,
            "iban": account(sample["account"]),
        }
    )
    say = getattr(wording, sample["wording"])
    return PaySheet(cast("Fields", fields), employer, employee, say, earnings, kept)
