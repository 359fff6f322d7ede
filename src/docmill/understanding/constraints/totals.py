"""The totals of a document, chosen together: net plus tax is gross."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import combinations, product
from typing import NamedTuple

from docmill.schemas.document_types import DEFINITIONS, DocumentType
from docmill.understanding.fields.candidates import Candidate, Candidates
from docmill.understanding.fields.findings import Finding, finding_of, probabilities
from docmill.understanding.fields.meaning import built_in_meaning
from docmill.understanding.page.layout import Span
from docmill.understanding.tables.items import NO_ITEMS, Items
from docmill.understanding.text.money import currency_code, currency_spans
from docmill.understanding.vocabulary import Concept

FIELDS = ("net_total", "tax_total", "gross_total")
_BEST = 7
"""Candidates per field that are tried together."""
_CENT = Decimal("0.01")
_CASH_ROUNDING = Decimal("0.05")
_ROUNDED_BY = tuple(_CENT * cents for cents in range(-4, 5) if cents)
_ADDS_UP = 3.0
_DOES_NOT_ADD_UP = -4.0
_KNOWN_RATE = 1.0
_HIGHEST_TAX = Decimal("0.5")
_PLAIN = -1.6
_LATER = 0.9
"""How much more the end of a document is worth than its beginning: totals come last."""
_LARGEST = 0.8
_UNLIKELY = -1.5
_UNLABELLED = 0.2
_NEVER = -9.0
_KEPT = 2.0
"""Cash less change."""
_TOTALS = frozenset({Concept.TOTAL, Concept.NET, Concept.GROSS, Concept.DUE, Concept.GRAND})
_ROUNDED = 1.6
_TILL_TOTALS = frozenset({Concept.TOTAL, Concept.DUE})
_HANDED = frozenset({Concept.PAID, Concept.CHANGE, Concept.TAX})
_MOST_ADDED = 20
_MADE = (1.0, 0.0, 0.3)
"""What it says for net, tax and gross total that the items make it."""
_UNROUNDED = -1.2
_ADDED, _PART = 5.0, -2.0
"""What it says for a total that it is the sum of two others, or one of two."""
_PAID = 0.6
_SURELY = 0.5

Amount = Candidate[Decimal]


class _Option(NamedTuple):
    """A candidate, or none, and how far its own score is above that of none."""

    amount: Amount | None
    score: float


class _Combination(NamedTuple):
    """Net, tax and gross, each perhaps none, and how well they fit and go together."""

    options: tuple[_Option, ...]
    score: float


def totals(
    candidates: Candidates,
    document_type: DocumentType,
    known: Decimal | None = None,
    *,
    table: Items = NO_ITEMS,
) -> dict[str, Finding]:
    """Net, tax and gross total, and the amount due. known: the gross total, where something else tells it.

    table: the items, whose amounts are no totals and whose headings say nothing of what stands below them.
    """
    amounts = candidates.amounts_outside(table.cells, table.headings)
    places = _Places(amounts)
    is_till = DEFINITIONS[document_type].line_items == "till"
    least = -1.0 if is_till else 0.0
    options = [_options(amounts, field, places, least if field == "gross_total" else 0) for field in FIELDS]
    rates = {rate / 100 for rate in candidates.percentages if rate > 0}
    slack = _CASH_ROUNDING if is_till else _CENT
    till = _Till(amounts) if is_till else None
    if till is not None:
        options[-1] = [
            option._replace(score=option.score + till.score(option.amount)) for option in options[-1]
        ]
    if known is not None:
        options[-1] = [_Option(amount, 0.0) for amount in amounts if amount.value == known][:1] or options[-1]
    if table.total is not None:
        options = [_made(own, table.total, worth) for own, worth in zip(options, _MADE, strict=True)]
    combinations = [
        _Combination(chosen, sum(option.score for option in chosen) + _together(chosen, rates, slack))
        for chosen in product(*options)
    ]
    best = max(combinations, key=lambda combination: combination.score)
    chosen = {
        field: finding_of(option.amount, _share(combinations, index, option.amount.value))
        for index, (field, option) in enumerate(zip(FIELDS, best.options, strict=True))
        if option.amount is not None
    }
    return {**chosen, **dict(_due(amounts, places, chosen.get("gross_total")))}


def _made(options: Sequence[_Option], total: Decimal, worth: float) -> list[_Option]:
    """The options, that which the items make more likely."""
    return [
        option._replace(score=option.score + worth)
        if option.amount is not None and option.amount.value == total
        else option
        for option in options
    ]


def balances(candidates: Candidates) -> dict[str, Finding]:
    """Opening and closing balance of an account."""
    places = _Places(candidates.amounts)
    found_balances: dict[str, Finding] = {}
    for field in ("opening_balance", "closing_balance"):
        ranking = _options(candidates.amounts, field, places)[1:]
        if ranking and ranking[0].amount is not None and ranking[0].score > 0:
            share = probabilities([option.score for option in ranking], null=0)[0]
            found_balances[field] = finding_of(ranking[0].amount, share)
    return found_balances


def balance_options(candidates: Candidates, field: str) -> list[Finding]:
    """What may be the balance `field`, the best first."""
    ranking = _options(candidates.amounts, field, _Places(candidates.amounts))[1:]
    return [finding_of(option.amount, 0.5) for option in ranking if option.amount is not None]


def tip(candidates: Candidates) -> Iterator[tuple[str, Finding]]:
    """What was given on top, on a receipt."""
    ranking = _options(candidates.amounts, "tip", _Places(candidates.amounts))[1:]
    if ranking and ranking[0].amount is not None and ranking[0].score > 0:
        yield "tip", finding_of(ranking[0].amount, probabilities([ranking[0].score], null=0)[0])


def currency(candidates: Candidates) -> Iterator[tuple[str, Finding]]:
    """The document's currency, where it is first printed; the same mark may stand for several."""
    code = candidates.conventions.currency
    if code is None:
        return
    for segment in candidates.layout.segments:
        for symbol, start, stop in currency_spans(segment.text):
            if currency_code(symbol, candidates.conventions.language) in (
                code,
                "USD" if symbol == "$" else code,
            ):
                sure = 0.97 if symbol.upper() == code or symbol != "$" else 0.8
                yield "currency", Finding(code, (Span(segment, start, stop),), sure)
                return


class _Places:
    """What an amount's place on the document and its size say; on a credit note most sums may be negative."""

    def __init__(self, amounts: Sequence[Amount]) -> None:
        self._count = max(1, len(amounts))
        self._order = {id(amount): index for index, amount in enumerate(amounts)}
        self._largest = max((abs(amount.value) for amount in amounts if not amount.plain), default=Decimal(0))
        sums = [one.value for one in amounts if one.value and not _TOTALS.isdisjoint(one.clues)]
        self._returned = sum(value < 0 for value in sums) > len(sums) / 2

    def score(self, amount: Amount, field: str) -> float:
        value = _LATER * self._order[id(amount)] / self._count
        if amount.plain:
            value += _PLAIN
        if field == "gross_total" and abs(amount.value) == self._largest:
            value += _LARGEST
        if (amount.value < 0 and not self._returned) or (amount.value == 0 and field != "tax_total"):
            value += _UNLIKELY
        return value


class _Till:
    """What was handed over, given back and rounded, on a receipt."""

    def __init__(self, amounts: Sequence[Amount]) -> None:
        paid = _said(amounts, Concept.PAID)
        change = [abs(value) for value in _said(amounts, Concept.CHANGE)]
        self._paid = set(paid)
        self._kept = {given - back for given in paid for back in change if given > back}
        rounding = {abs(value) for value in _said(amounts, Concept.ROUNDING)}
        totals = {*_said(amounts, Concept.TOTAL), *_said(amounts, Concept.DUE)}
        printed = {abs(amount.value) for amount in amounts}
        rounded = {
            total + sign * by: total
            for total in totals
            for by in rounding
            for sign in (1, -1)
            if 0 < by <= _CASH_ROUNDING and (total + sign * by) % _CASH_ROUNDING == 0
        }
        rounded |= {
            after: after - by
            for after in rounding
            for by in _ROUNDED_BY
            if after > _CASH_ROUNDING and after % _CASH_ROUNDING == 0 and after - by in totals
        }
        self._rounded = set(rounded)
        self._unrounded = {total for after, total in rounded.items() if after in printed}
        wholes, self._parts = _added(amounts)
        self._wholes = wholes - self._unrounded

    def score(self, amount: Amount | None) -> float:
        """How far what was paid agrees with `amount` being the total."""
        if amount is None:
            return 0.0
        value = _KEPT * (amount.value in self._kept)
        value += _ROUNDED * (amount.value in self._rounded)
        value += _UNROUNDED * (amount.value in self._unrounded)
        value += _ADDED * (amount.value in self._wholes) + _PART * (amount.value in self._parts)
        return value + _PAID * (amount.value in self._paid)


def _added(amounts: Sequence[Amount]) -> tuple[set[Decimal], set[Decimal]]:
    """Totals that are the sum of two others, as of two rates of tax, and these two.

    Not what was handed over, which is the total and the change.
    """
    totals = {
        amount.value
        for amount in amounts
        if _TILL_TOTALS & amount.clues.keys() and not _HANDED.intersection(amount.clues) and not amount.plain
    }
    largest = sorted((total for total in totals if total > 0), reverse=True)[:_MOST_ADDED]
    pairs = [pair for pair in combinations(largest, 2) if sum(pair) in totals]
    return {sum(pair, Decimal(0)) for pair in pairs}, {part for pair in pairs for part in pair}


def _said(amounts: Sequence[Amount], concept: Concept) -> list[Decimal]:
    return [amount.value for amount in amounts if amount.clues.get(concept, 0) > _SURELY and not amount.plain]


def _options(amounts: Sequence[Amount], field: str, places: _Places, least: float = 0.0) -> list[_Option]:
    """None at all, and the best candidates of a field by label and place, the best first."""
    best: dict[Decimal, _Option] = {}
    meaning = built_in_meaning(field)
    for amount in amounts:
        said = meaning.score(amount.clues)
        if said > (0 if amount.plain else least):
            option = _Option(amount, said + places.score(amount, field) - meaning.null)
            known = best.get(amount.value)
            if known is None or option.score > known.score:
                best[amount.value] = option
    ranking = sorted(best.values(), key=lambda option: -option.score)[:_BEST]
    if not ranking and field == "gross_total":
        ranking = _unlabelled(amounts, places)
    return [_Option(None, 0.0), *ranking]


def _unlabelled(amounts: Sequence[Amount], places: _Places) -> list[_Option]:
    """Where no label was read, the largest amount may still be the total."""
    real = [amount for amount in amounts if not amount.plain and not amount.clues.get(Concept.CHANGE)]
    if not real:
        return []
    largest = max(real, key=lambda amount: amount.value)
    return [_Option(largest, _UNLABELLED + 0.1 * places.score(largest, "gross_total"))]


def _together(chosen: Sequence[_Option], rates: set[Decimal], slack: Decimal) -> float:
    """What the three amounts say of each other."""
    net, tax, gross = (None if option.amount is None else option.amount.value for option in chosen)
    value = 0.0
    if net is not None and tax is not None and gross is not None:
        value += _ADDS_UP if abs(net + tax - gross) <= slack else _DOES_NOT_ADD_UP
    elif _exceeds(net, gross) or _exceeds(tax, gross, _HIGHEST_TAX) or _exceeds(tax, net):
        value += _DOES_NOT_ADD_UP
    if net is not None and tax is not None and any(abs(net * rate - tax) <= 2 * _CENT for rate in rates):
        value += _KNOWN_RATE
    return value


def _exceeds(part: Decimal | None, whole: Decimal | None, share: Decimal = Decimal(1)) -> bool:
    return part is not None and whole is not None and abs(part) > abs(whole) * share


def _share(combinations: Sequence[_Combination], index: int, value: Decimal) -> float:
    """The share of belief of `value` in field `index`: each rival in its best combination."""
    rivals: dict[Decimal | None, float] = {}
    for combination in combinations:
        amount = combination.options[index].amount
        key = None if amount is None else amount.value
        rivals[key] = max(rivals.get(key, _NEVER), combination.score)
    null = rivals.pop(None, _NEVER)
    own = rivals.pop(value)
    return probabilities([own, *rivals.values()], null=null)[0]


def _due(amounts: Sequence[Amount], places: _Places, gross: Finding | None) -> Iterator[tuple[str, Finding]]:
    """What is left to pay: no more than the total."""
    limit = abs(Decimal(str(gross.value))) + _CASH_ROUNDING if gross else None
    fitting = [
        (option.amount, option.score)
        for option in _options(amounts, "amount_due", places)
        if option.amount is not None
        and option.score > 0
        and (limit is None or abs(option.amount.value) <= limit)
    ]
    if fitting:
        share = probabilities([value for _, value in fitting], null=0)[0]
        yield "amount_due", finding_of(fitting[0][0], share)
