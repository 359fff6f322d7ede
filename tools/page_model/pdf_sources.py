"""Samples of PDFs with text layers in ../shared/data: broadcasters' orders, contracts, e-invoices."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal

from bench.accuracy.orders_own_schema import STATION
from bench.data import invoices, orders
from bench.data.shared import DATA
from bench.data.text_layer import text_layer

from docmill.model.document import Document
from docmill.model.paths import leaves
from docmill.understanding.einvoice.reading import einvoice
from docmill.understanding.text.dates import find_dates
from tools.page_model.samples import PageFacts, Sample
from tools.page_model.sources import Paper, amount_of, known_currency, samples_of
from tools.page_model.weak_labels import KnownValue, Value

_CONTRACT_PAGES, _ORDER_PAGES, _INVOICE_PAGES = 2, 3, 3
_CONTRACT_DATES = {"agreement_date": "issue_date", "effective_date": "period_start"}
_IN_BRACKETS = re.compile(r"\s*\(.*", re.DOTALL)
_FILLER = re.compile(r"\s{2,}|\(FORM\)")
_ITEM_FIELDS = ("description", "quantity", "unit", "unit_price", "net_amount")


def adbuy_samples() -> Iterator[Sample]:
    """Yield the pages of broadcasters' orders, contracts and invoices that have a text layer.

    Their number is labelled once, whether the paper is an order or an invoice: it is `contract_number`.
    """
    for label in orders.labels():
        name = f"{label['id']}.pdf"
        document = text_layer(DATA / "adbuy/pdf" / name)
        if not document.pages:
            continue
        words = document.pages[0].words.texts
        station = next((match[1] for word in words if (match := STATION.match(word))), name)
        kind = label["doc_class"] or "order"
        paper = Paper(
            key=label["id"],
            source="adbuy",
            group=station,
            kind=kind,
            facts=PageFacts("invoice" if kind == "invoice" else "purchase_order", "us", "en", "USD"),
            truth=list(_order_values(label["gold"])),
            most_pages=_ORDER_PAGES,
        )
        yield from samples_of(document, paper)


def _order_values(gold: Mapping[str, str | None]) -> Iterator[KnownValue]:
    for name, path in (("contract_num", "contract_number"), ("advertiser", "buyer.name")):
        if text := gold.get(name):
            yield KnownValue(path, (text,))
    for name, path in (("flight_from", "period_start"), ("flight_to", "period_end")):
        if day := _day(gold.get(name) or ""):
            yield KnownValue(path, (day,))
    if (value := amount_of(gold.get("gross_amount") or "")) is not None:
        yield KnownValue("gross_total", (value,))


def _day(text: str) -> date | None:
    """The day of a text with the month first."""
    return next((written.value(day_first=False) for written in find_dates(text)), None)


def contract_samples() -> Iterator[Sample]:
    """Yield the first pages of contracts, with their title, parties and dates."""
    rows = map(json.loads, (DATA / "contracts/truth.jsonl").read_text(encoding="utf-8").splitlines())
    for label in rows:
        document = text_layer(DATA / "contracts" / f"{label['id']}.pdf")
        paper = Paper(
            key=label["id"],
            source="contracts",
            group=label["id"],
            kind="contract",
            facts=PageFacts("contract", None, "en"),
            truth=list(_contract_values(label)),
            most_pages=_CONTRACT_PAGES,
        )
        yield from samples_of(document, paper)


def _contract_values(label: Mapping[str, str]) -> Iterator[KnownValue]:
    parties = [_IN_BRACKETS.sub("", text).strip(" ;,") for text in label["parties"].split(";")]
    names = [text for text in parties if len(text) > 3]  # noqa: PLR2004 - shorter ones are everywhere
    for path, name in zip(("first_party.name", "second_party.name"), names, strict=False):
        yield KnownValue(path, (name,))
    titles = [_FILLER.sub(" ", text).strip() for text in label["title"].split("\n") if text.strip()]
    if titles:
        yield KnownValue("subject", tuple(titles))
    for name, path in _CONTRACT_DATES.items():
        if day := _day(label[name].split(";")[0]):
            yield KnownValue(path, (day,))


def einvoice_samples() -> Iterator[Sample]:
    """Yield the pages of e-invoices, labelled by their XML."""
    for path, document in invoices.documents():
        data = einvoice(document.embedded[0].content).data
        values = {name: value for name, value in leaves(data) if isinstance(value, str | date | Decimal)}
        yield from samples_of(document, _invoice_paper(invoices.name_of(path), document, values))


def _invoice_paper(key: str, document: Document, values: Mapping[str, Value]) -> Paper:
    items: dict[str, dict[str, Value]] = {}
    truth: list[KnownValue] = []
    for path, value in values.items():
        owner, _, leaf = path.rpartition(".")
        if path.startswith("lines["):
            if leaf in _ITEM_FIELDS:
                items.setdefault(owner, {})[leaf] = value
        elif path not in {"payment.method", "payment.terms", "tax_category"}:  # codes, and sentences of terms
            truth.append(known_currency(str(value)) if path == "currency" else KnownValue(path, (value,)))
    seller, vat_id = str(values.get("seller.name", key)), str(values.get("seller.vat_id", ""))
    return Paper(
        key=key,
        source="einvoices",
        group=seller,
        kind="invoice",
        facts=PageFacts(
            "invoice", vat_id[:2].lower() or None, document.language, str(values.get("currency", "")) or None
        ),
        truth=truth,
        items=list(items.values()),
        most_pages=_INVOICE_PAGES,
    )
