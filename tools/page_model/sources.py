"""Samples of real papers in ../shared/data, with weak labels of their words."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, time
from decimal import Decimal, InvalidOperation
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from babel.numbers import get_territory_currencies
from bench.accuracy.trust import is_set_aside
from bench.data import receipts

from docmill.model.document import Document
from docmill.understanding.page_model.seen import width_boxes
from docmill.understanding.text.dates import find_dates
from docmill.understanding.text.money import symbols_of_currency
from tools.page_model.proven_items import UNSURE, proven_items
from tools.page_model.readings import WORLD, kept_readings
from tools.page_model.samples import PageFacts, Sample
from tools.page_model.till_texts import all_number_labels
from tools.page_model.weak_labels import KnownValue, Value, label_words

_TYPES = {"receipt": "receipt", "hotel_bill": "invoice", "invoice": "invoice"}
"""Document types of the kinds in the labels of the world; of the others nobody has said."""
_COUNTRIES = {"uk": "gb", "ie?": "ie"}
_VAT_ID = re.compile(r"[A-Z]{2,3}\s?[\d ]{7,}|CHE|NL\d", re.IGNORECASE)

_NAMED_BY_GROUP = ("world", "einvoices", "adbuy")
"""Sources of which `Sample.group` is the name by which `bench.accuracy.trust` sets vendors aside."""


def is_kept_back(sample: Sample) -> bool:
    """Return whether a page is of the vendors that are set aside, from which nothing may learn."""
    if sample.source.startswith(_NAMED_BY_GROUP):
        return is_set_aside(sample.group)
    return sample.source.startswith("sroie") and sample.group in kept_back_vendors()


@cache
def kept_back_vendors() -> frozenset[str]:
    """The vendors of SROIE's receipts that are set aside, by the first name of each."""
    first = receipts.first_of_vendors(receipts.vendor_groups(receipts.keys()))
    return frozenset(vendor for vendor, name in first.items() if is_set_aside(name))


class Paper(NamedTuple):
    """Labels of one paper.

    items: as in `label_words`. absent: roles that it is known not to have. unsure: roles that words may have
    without being labelled. most_pages: to take into samples.
    """

    key: str
    source: str
    group: str
    kind: str
    facts: PageFacts
    truth: Sequence[KnownValue]
    items: Sequence[Mapping[str, Value]] = ()
    absent: Sequence[str] = ()
    unsure: Sequence[str] = ()
    most_pages: int = 1


def samples_of(document: Document, paper: Paper) -> Iterator[Sample]:
    """Yield the first pages of a document that have words as samples."""
    shown = replace(document, pages=document.pages[: paper.most_pages])
    labelled = label_words(shown, paper.truth, items=paper.items, document_type=paper.facts.type or "receipt")
    for page, roles in zip(shown.pages, labelled, strict=True):
        if page.words.texts:
            yield Sample(
                key=paper.key if page.number == 1 else f"{paper.key}#{page.number}",
                source=paper.source,
                group=paper.group,
                kind=paper.kind,
                facts=paper.facts,
                texts=list(page.words.texts),
                boxes=width_boxes(page),
                lines=page.words.lines,
                roles=roles.roles,
                goes_on=roles.goes_on,
                known=tuple(role for role in roles.known(paper.absent) if role not in paper.unsure),
                values={known.path: [str(value) for value in known.values] for known in paper.truth},
            )


def world_samples(readings: Path, source: str) -> Iterator[Sample]:
    """Yield the scanned papers of many countries. readings: the folder of `readings.keep_readings`."""
    rows = map(json.loads, (WORLD / "labels.jsonl").read_text(encoding="utf-8").splitlines())
    labels = {row["id"]: row for row in rows}
    for key, document in kept_readings(readings):
        if not document.pages or not document.pages[0].words.texts:
            continue
        paper = _world_paper(labels[key], source)
        totals = [amount_of(labels[key][name] or "") for name in ("total", "net")]
        known_totals = [total for total in totals if total is not None]
        items = proven_items(document, known_totals, labels[key]["item_count"] or 0)
        yield from samples_of(document, paper._replace(items=items, unsure=UNSURE))


def _world_paper(label: Mapping[str, Any], source: str) -> Paper:
    country: str = _COUNTRIES.get(label["country"]) or label["country"]
    usual = get_territory_currencies(country.upper())
    truth = [*_world_texts(label), *_world_figures(label)]
    has = {known.path for known in truth}
    absent = [path for path in ("seller.address", "tip", "currency", "time") if path not in has]
    if "time" in (label["note"] or ""):  # it is printed, but cut off or illegible
        absent = [path for path in absent if path != "time"]
    return Paper(
        key=label["id"],
        source=source,
        group=label["vendor"],
        kind=label["kind"],
        facts=PageFacts(
            _TYPES.get(label["kind"]), country, label["language"], label["currency"] or (usual or [None])[-1]
        ),
        truth=truth,
        absent=absent,
    )


def _world_texts(label: Mapping[str, Any]) -> Iterator[KnownValue]:
    if label["seller"]:
        yield KnownValue("seller.name", tuple(label["seller"]))
    if addresses := tuple(text for text in (label["address"], label["address_alt"]) if text):
        yield KnownValue("seller.address", addresses)
    if label["number"]:
        yield KnownValue("number", (label["number"],), labels=all_number_labels())
    if label["currency"]:
        yield known_currency(label["currency"])
    is_vat = {text: _VAT_ID.match(text) is not None for text in label["vat_ids"]}
    for path, kind in (("seller.vat_id", True), ("seller.tax_number", False)):
        if numbers := tuple(text for text in is_vat if is_vat[text] is kind):
            yield KnownValue(path, numbers)


def _world_figures(label: Mapping[str, Any]) -> Iterator[KnownValue]:
    if label["date"]:
        yield KnownValue("issue_date", (date.fromisoformat(label["date"]),))
    if label["time"]:
        hour, minute, *_ = map(int, label["time"].split(":"))
        yield KnownValue("time", (f"{time(hour, minute):%H:%M}",))
    names = {"total": "gross_total", "net": "net_total", "tax_total": "tax_total", "tip": "tip"}
    for name, path in names.items():
        if label[name] is not None and (value := amount_of(label[name])) is not None:
            labels = (label["total_label"],) if name == "total" and label["total_label"] else ()
            yield KnownValue(path, (value,), labels)


def known_currency(code: str) -> KnownValue:
    """The currency with the signs and words by which it is printed."""
    names = {"EUR": ("Euro",), "CNY": ("RMB", "元"), "USD": ("$", "US$"), "CAD": ("$",), "HKD": ("$", "HK$")}
    return KnownValue("currency", (code,), printed=(*symbols_of_currency(code), *names.get(code, ())))


def amount_of(text: str) -> Decimal | None:
    """The amount that a label says, with a point for its decimals; None if it says something else."""
    digits = re.sub(r"[^\d.\-]", "", text.replace(",", ""))
    try:
        return Decimal(digits)
    except InvalidOperation:
        return None


def sroie_samples(readings: Iterable[tuple[str, Document]], source: str) -> Iterator[Sample]:
    """Yield the receipts of `bench.data.receipts`. readings: of each, by its name."""
    labels = receipts.keys()
    vendors = receipts.vendor_groups(labels)
    facts = PageFacts("receipt", "my", "en", "MYR")
    for key, document in readings:
        if label := labels.get(key):
            truth = list(_sroie_values(label))
            items = proven_items(
                document, [total for total in [amount_of(label.get("total") or "")] if total]
            )
            yield from samples_of(
                document, Paper(key, source, vendors[key], "receipt", facts, truth, items, unsure=UNSURE)
            )


def _sroie_values(label: Mapping[str, str]) -> Iterator[KnownValue]:
    for name, path in receipts.PATHS.items():
        text = label.get(name) or ""
        if name == "date":
            days = [written.value(day_first=True) for written in find_dates(text)]
            if days and days[0] is not None:
                yield KnownValue(path, (days[0],))
        elif name == "total":
            if (value := amount_of(text)) is not None:
                yield KnownValue(path, (value,))
        elif text:
            yield KnownValue(path, (text,))
