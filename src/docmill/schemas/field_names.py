"""The names of fields for people: the same on the page, in the command line and in messages of checks."""

import re
from functools import lru_cache
from typing import Any, get_args

from pydantic import BaseModel

from docmill.model.paths import steps_of
from docmill.schemas.document_types import DEFINITIONS

FIELD_NAMES = {
    "seller.name": "Seller",
    "seller.address": "Seller's address",
    "seller.vat_id": "Seller's VAT number",
    "buyer.name": "Buyer",
    "buyer.address": "Buyer's address",
    "buyer.vat_id": "Buyer's VAT number",
    "number": "Number",
    "issue_date": "Date",
    "time": "Time",
    "due_date": "Due date",
    "delivery_date": "Delivery date",
    "period_start": "Period from",
    "period_end": "Period to",
    "order_number": "Order number",
    "delivery_note_number": "Delivery note number",
    "contract_number": "Contract number",
    "customer_number": "Customer number",
    **{path: field.name for definition in DEFINITIONS.values() for path, field in definition.fields.items()},
    "iban": "IBAN",
    "currency": "Currency",
    "opening_balance": "Opening balance",
    "closing_balance": "Closing balance",
    "net_total": "Net total",
    "tax_total": "Tax",
    "tax_category": "VAT category",
    "tip": "Tip",
    "gross_total": "Total",
    "amount_due": "Amount due",
    "payment.method": "Payment method",
    "payment.terms": "Payment terms",
    "payment.iban": "Pay to IBAN",
    "payment.bic": "Pay to BIC",
}
"""In the order in which they are shown."""

TABLES = {
    "lines": (
        "Line items",
        {
            "position": "No.",
            "description": "Description",
            "quantity": "Quantity",
            "unit": "Unit",
            "unit_price": "Unit price",
            "net_amount": "Net amount",
            "tax_rate": "Tax rate",
        },
    ),
    "transactions": (
        "Transactions",
        {
            "date": "Date",
            "counterparty": "Counterparty",
            "description": "Description",
            "reference": "Reference",
            "iban": "IBAN",
            "amount": "Amount",
            "currency": "Currency",
        },
    ),
}

ITEM = re.compile(r"(?P<table>\w+)\[(?P<row>\d+)\]\.(?P<column>\w+)")
"""The path of a value in a list."""

_CAPITALS = {"bic": "BIC", "iban": "IBAN", "vat": "VAT"}


def field_name(path: str, fields: type[BaseModel] | None = None) -> str:
    """Return the name of the value at a path, as in `Net amount, row 2`.

    fields: of a user's own schema, whose titles come first; a path without a name is made readable.
    """
    if fields is not None:
        title = _titles(fields).get(".".join(step for step in steps_of(path) if isinstance(step, str)))
        if title:
            return title
    item = ITEM.fullmatch(path)
    if item and item["table"] in TABLES:
        _, columns = TABLES[item["table"]]
        return f"{columns.get(item['column'], item['column'])}, row {int(item['row']) + 1}"
    words = path.replace("_", " ").replace(".", " ").capitalize().split(" ")
    return FIELD_NAMES.get(path, " ".join(_CAPITALS.get(word.lower(), word) for word in words))


def inside_sentence(name: str) -> str:
    """The name of a field as it is written inside a sentence."""
    return name if name[1:2].isupper() else name[:1].lower() + name[1:]


@lru_cache(maxsize=64)
def _titles(fields: type[BaseModel]) -> dict[str, str]:
    """The titles that the author of a model gave to its values, by path without indices."""
    titles: dict[str, str] = {}
    waiting: list[tuple[str, Any, frozenset[Any]]] = [("", fields, frozenset())]
    while waiting:
        prefix, model, above = waiting.pop()
        for name, field in model.model_fields.items():
            path = f"{prefix}{name}"
            if field.title and field.title != name.replace("_", " ").title():  # as Pydantic makes them
                titles[path] = field.title
            waiting.extend(
                (f"{path}.", inner, above | {model})
                for inner in _models_in(field.annotation)
                if inner not in above | {model}
            )
    return titles


def _models_in(annotation: Any) -> list[type[BaseModel]]:  # noqa: ANN401 - of any user's class
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in _models_in(argument)]
