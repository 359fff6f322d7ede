"""Samples of made-up papers, of the generators that other parts of docmill are trained and measured with.

Receipts of 36 countries as simulated recognition reads them; business papers of 12 languages and 30
countries, of which the parties are labelled; and the papers of `docmill demo` in other words, with all their
fields and items. The same seed gives the same samples.
"""

import random
import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from functools import cache

from bench.data.party_pages import generate_party_pages
from bench.data.varied_samples import varied_samples

from docmill.demo.plan import Plan
from docmill.model.paths import leaves
from docmill.training.generated_receipts import generate_receipts
from docmill.training.receipt_texts import words
from docmill.training.simulated_ocr import simulate_recognition
from tools.page_model.samples import PageFacts, Sample
from tools.page_model.sources import Paper, amount_of, known_currency, samples_of
from tools.page_model.weak_labels import KnownValue, Value

_SHARE_RECOGNISED = 0.5
_NOT_PRINTED = frozenset(("payment.method", "payment.terms", "tax_category", "lines", "transactions"))
_ITEM_FIELDS = frozenset(("description", "quantity", "unit", "unit_price", "net_amount"))


def made_up_receipts(count: int, *, seed: int) -> Iterator[Sample]:
    """Yield receipts with the fields that `docmill.training.generated_receipts` knows."""
    for receipt in generate_receipts(count, seed=seed):
        values = {path: value for path, text in receipt.truth.items() if (value := _value(path, text))}
        paper = Paper(
            key=receipt.key,
            source="made-up",
            group=receipt.key,
            kind="receipt",
            facts=PageFacts("receipt"),
            truth=[KnownValue(path, (value,)) for path, value in values.items()],
            absent=[path for path in receipt.truth if path not in values],
        )
        yield from samples_of(receipt.document, paper)


@cache
def _greetings() -> re.Pattern[str]:
    """A pattern of lines such as `Welcome to NAME`, of which the name alone is the seller's."""
    templates = {text for language in words()["languages"].values() for text in language["welcome_to"]}
    forms = "|".join(
        re.escape(text).replace(re.escape("{0}"), "(.+)").replace(r"\ ", r"\s?") for text in sorted(templates)
    )
    return re.compile(forms, re.IGNORECASE)


def _value(path: str, text: str) -> Value | None:
    if not text:
        return None
    if path == "seller.name" and (greeted := _greetings().fullmatch(text)):
        return next(group for group in greeted.groups() if group)
    return (
        date.fromisoformat(text)
        if path == "issue_date"
        else amount_of(text)
        if path == "gross_total"
        else text
    )


def made_up_party_pages(count: int, *, seed: int) -> Iterator[Sample]:
    """Yield business papers whose seller and buyer are labelled, half of them as recognition reads them."""
    random_ = random.Random(seed)
    for number, page in enumerate(generate_party_pages(count, seed=seed)):
        paper = Paper(
            key=f"party page {seed} {number}",
            source="made-up",
            group=f"party pages, {page.layout}",
            kind=page.document_type,
            facts=PageFacts(page.document_type, language=page.language),
            truth=[
                KnownValue(path, (text if isinstance(text, str) else " ".join(text),))
                for path, text in page.truth.items()
            ],
        )
        document = page.document
        if random_.random() < _SHARE_RECOGNISED:
            document = simulate_recognition(document.pages[0], random_)
        yield from samples_of(document, paper)


def made_up_demo_papers(count: int, *, seed: int) -> Iterator[Sample]:
    """Yield the papers of `bench.data.varied_samples` with their fields and items."""
    for number, (document, plan) in enumerate(varied_samples(count, seed)):
        yield from samples_of(document, _demo_paper(f"demo paper {seed} {number}", plan))


def _demo_paper(key: str, plan: Plan) -> Paper:
    values = {path: value for path, value in leaves(plan.truth) if isinstance(value, str | date | Decimal)}
    items: dict[str, dict[str, Value]] = {}
    truth: list[KnownValue] = []
    for path, value in values.items():
        owner, _, leaf = path.rpartition(".")
        if owner.startswith("lines["):
            if leaf in _ITEM_FIELDS:
                items.setdefault(owner, {})[leaf] = value
        elif path.partition("[")[0] not in _NOT_PRINTED:
            truth.append(known_currency(str(value)) if path == "currency" else KnownValue(path, (value,)))
    return Paper(
        key=key,
        source="made-up",
        group=f"demo papers, {plan.layout}",
        kind=plan.document_type,
        facts=PageFacts(
            plan.document_type,
            plan.country.lower(),
            plan.paper.wording.language,
            str(values.get("currency", "")) or None,
        ),
        truth=truth,
        items=list(items.values()),
        most_pages=2,
    )
