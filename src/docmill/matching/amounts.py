"""Comparison of the amounts of two records: equal, by tax, discount or fee, in part, or not at all."""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from docmill.matching.evidence import AmountLevel
from docmill.matching.match_record import MatchRecord

CENT = Decimal("0.01")
ROUNDING = Decimal("0.05")
"""The most that is rounded away at a till or in a sum of rounded lines."""
USUAL_DISCOUNTS = tuple(map(Decimal, ("1", "1.5", "2", "2.5", "3", "4", "5")))
"""Percentages of cash discounts that are usual where the terms are not known."""
_HIGHEST_DISCOUNT = 15
_FEE = Decimal(35)
_FEE_PERCENT = Decimal(3)
_FEE_SHARE = Decimal("0.1")
"""Fees of banks: up to 35 in the currency, or 3 % where that is more, and never over a tenth."""
_RETURN_FEE = Decimal(15)
"""The most that banks charge for a returned direct debit, with what they pass on of the other bank."""
_LEAST_SHARE = Decimal("0.6")
"""Least share of one amount in another that may stand for it, wrongly billed or paid."""
_SHARES, _LEAST_SHARES = 20, 4
"""Instalments, part payments and those of too much are usually so many twentieths, and no fewer."""
_CLOSE = Decimal("0.11")
"""A price may have changed by a tenth between an order and its invoice."""
_UNITS_PER_EURO = {
    "AUD": 1.7, "BGN": 1.96, "BRL": 6, "CAD": 1.5, "CHF": 0.95, "CNY": 7.8, "CZK": 25, "DKK": 7.46,
    "EUR": 1, "GBP": 0.86, "HUF": 390, "INR": 95, "JPY": 160, "NOK": 11.5, "NZD": 1.85, "PLN": 4.3,
    "RON": 5, "SEK": 11.2, "SGD": 1.45, "TRY": 40, "USD": 1.1, "ZAR": 20,
}  # fmt: skip
"""Roughly what a euro was worth in the last years."""
_RATE_TOLERANCE = 1.4
"""By which factor a rate may be off: rates change by as much in some years, and banks take a share."""
_PERCENT = re.compile(r"(?<![\d.,])(\d{1,2}(?:[.,]\d{1,2})?)\s?%")


class AmountComparison(NamedTuple):
    """The level of two amounts, and why: `code` is that of the reason, values are as compared."""

    level: AmountLevel
    code: str = "amount"
    first: Decimal | None = None
    second: Decimal | None = None


_UNKNOWN = AmountComparison(AmountLevel.UNKNOWN)


def compare_amounts(first: MatchRecord, second: MatchRecord) -> AmountComparison:
    """The amounts of two records of different kinds. Delivery notes and contracts have none."""
    if _has_other_currency(first, second):
        return AmountComparison(AmountLevel.OTHER_CURRENCY, "currency", total(first), total(second))
    if second.kind in ("payment", "receipt"):
        return _compare_payment(first, second)
    if second.kind in ("invoice", "purchase_order") and first.kind in ("purchase_order", "quote"):
        return _compare_billed(first, second)
    if first.kind == "invoice" and second.kind in ("credit_note", "reminder"):
        return _compare_part(first, second)
    return _UNKNOWN


def compare_duplicates(one: MatchRecord, other: MatchRecord) -> AmountComparison:
    """The amounts of two records of a kind, of which one may be the other, misread."""
    first, second = total(one), total(other)
    if _has_other_currency(one, other):
        return AmountComparison(AmountLevel.OTHER_CURRENCY, "currency", first, second)
    if first is None or second is None:
        return _UNKNOWN
    if first == second:
        return AmountComparison(AmountLevel.EQUAL, "amount", first, second)
    left, right = f"{first:.2f}", f"{second:.2f}"
    is_misread = len(left) == len(right) and sum(a != b for a, b in zip(left, right, strict=True)) == 1
    is_same_net = one.net_total is not None and one.net_total == other.net_total
    if is_misread or is_same_net:
        return AmountComparison(AmountLevel.CLOSE, "amount_misread", first, second)
    return AmountComparison(AmountLevel.UNEXPLAINED, "amount", first, second)


def compare_returned_amounts(payment: MatchRecord, returning: MatchRecord) -> AmountComparison:
    """The amounts of a payment and of its return, in which a bank may have booked its fee as well."""
    paid, returned = total(payment), total(returning)
    if _has_other_currency(payment, returning):
        return AmountComparison(AmountLevel.OTHER_CURRENCY, "currency", paid, returned)
    if paid is None or returned is None:
        return _UNKNOWN
    if paid == returned:
        return AmountComparison(AmountLevel.EQUAL, "amount", paid, returned)
    if abs(paid - returned) <= _RETURN_FEE and min(paid, returned) > _RETURN_FEE:
        return AmountComparison(AmountLevel.CLOSE, "amount_fee", paid, returned)
    return AmountComparison(AmountLevel.UNEXPLAINED, "amount", paid, returned)


def is_near(amount: AmountComparison) -> bool:
    """True if two amounts are of the same magnitude, so that one may stand for the other by mistake."""
    if amount.first is None or amount.second is None:
        return False
    lesser, greater = sorted((amount.first, amount.second))
    return lesser >= greater * _LEAST_SHARE


def is_usual_part(amount: AmountComparison) -> bool:
    """True if the second amount is a usual share of the first: 20 %, 25 % and so on, to the cent."""
    if not amount.first or amount.second is None:
        return False
    share = (amount.second / amount.first * _SHARES).to_integral_value()
    is_exact = (amount.first * share / _SHARES).quantize(CENT) == amount.second.quantize(CENT)
    return share >= _LEAST_SHARES and is_exact


def may_be_converted(first: MatchRecord, second: MatchRecord) -> bool:
    """True if the amount of one record may be that of the other in its currency, at any rate of late."""
    left, right = total(first), total(second)
    rates = _UNITS_PER_EURO.get(first.currency), _UNITS_PER_EURO.get(second.currency)
    if not left or not right or rates[0] is None or rates[1] is None:
        return False
    error = float(right) / float(left) / (rates[1] / rates[0])
    return 1 / _RATE_TOLERANCE <= error <= _RATE_TOLERANCE


def total(record: MatchRecord) -> Decimal | None:
    """The amount to be paid: with tax, if that is known."""
    if record.gross_total is not None:
        return record.gross_total
    return record.net_total if record.amount_due is None else record.amount_due


@lru_cache(maxsize=4096)
def discounts(terms: str) -> tuple[Decimal, ...]:
    """The percentages that the terms of payment name."""
    named = (Decimal(match[1].replace(",", ".")) for match in _PERCENT.finditer(terms))
    return tuple(percent for percent in named if 0 < percent <= _HIGHEST_DISCOUNT)


def discounted(amount: Decimal, percent: Decimal) -> Decimal:
    """An amount less a discount, to the cent."""
    return (amount * (100 - percent) / 100).quantize(CENT)


def payable_amounts(record: MatchRecord) -> Iterator[tuple[str, Decimal]]:
    """The amounts that pay a document, each with the code of its reason, the likeliest first."""
    amounts = [amount for amount in (record.amount_due, record.gross_total) if amount]
    yield from (("amount", amount) for amount in amounts)
    for amount in amounts[:1] or ([record.net_total] if record.net_total else []):
        yield from (("amount_discount", discounted(amount, percent)) for percent in discounts(record.terms))
    if record.net_total:
        yield "amount_net", record.net_total


def _has_other_currency(first: MatchRecord, second: MatchRecord) -> bool:
    return bool(first.currency and second.currency and first.currency != second.currency)


def _compare_payment(first: MatchRecord, second: MatchRecord) -> AmountComparison:
    paid, billed = total(second), total(first)
    if paid is None or billed is None:
        return _UNKNOWN
    for code, amount in payable_amounts(first):
        if amount == paid:
            level = AmountLevel.EQUAL if code == "amount" else AmountLevel.EXPLAINED
            return AmountComparison(level, code, amount, paid)
    difference = billed - paid
    if abs(difference) <= ROUNDING:
        return AmountComparison(AmountLevel.EXPLAINED, "amount_rounded", billed, paid)
    if any(abs(discounted(billed, percent) - paid) <= CENT for percent in USUAL_DISCOUNTS):
        return AmountComparison(AmountLevel.EXPLAINED, "amount_discount", billed, paid)
    fee = min(max(_FEE, billed * _FEE_PERCENT / 100), billed * _FEE_SHARE)
    if abs(difference) <= fee:
        return AmountComparison(AmountLevel.CLOSE, "amount_fee", billed, paid)
    level = AmountLevel.PART if difference > 0 else AmountLevel.UNEXPLAINED
    return AmountComparison(level, "amount_part" if difference > 0 else "amount", billed, paid)


def _compare_billed(first: MatchRecord, second: MatchRecord) -> AmountComparison:
    """An order or quote and what follows from it, by the same kind of totals where both have it."""
    pairs = [
        (left, right)
        for left, right in (
            (first.net_total, second.net_total),
            (first.gross_total, second.gross_total),
        )
        if left and right
    ]
    crossed = [
        (left, right)
        for left, right in (
            (first.net_total, second.gross_total),
            (first.gross_total, second.net_total),
        )
        if left and right
    ]
    if not pairs and not crossed:
        return _UNKNOWN
    if found := next(((left, right) for left, right in pairs if abs(left - right) <= ROUNDING), None):
        return AmountComparison(AmountLevel.EQUAL, "amount", *found)
    if found := next(((left, right) for left, right in crossed if abs(left - right) <= ROUNDING), None):
        return AmountComparison(AmountLevel.EXPLAINED, "amount_net", *found)
    left, right = (pairs or crossed)[0]
    if abs(left - right) <= left * _CLOSE:
        return AmountComparison(AmountLevel.CLOSE, "amount_close", left, right)
    level = AmountLevel.PART if right < left else AmountLevel.UNEXPLAINED
    return AmountComparison(level, "amount_part" if right < left else "amount", left, right)


def _compare_part(first: MatchRecord, second: MatchRecord) -> AmountComparison:
    """An invoice and a credit note or reminder on it, which is for all or for a part."""
    left, right = total(first), second.amount_due if second.kind == "reminder" else total(second)
    if left is None or right is None:
        return _UNKNOWN
    if any(amount == right for _, amount in payable_amounts(first)):
        return AmountComparison(AmountLevel.EQUAL, "amount", right, right)
    is_line = any(item.net_amount == second.net_total for item in first.items if item.net_amount is not None)
    if is_line:
        return AmountComparison(AmountLevel.EXPLAINED, "amount_line", left, right)
    level = (
        AmountLevel.PART
        if right < left
        else AmountLevel.CLOSE
        if right < left * 2
        else AmountLevel.UNEXPLAINED
    )
    return AmountComparison(level, "amount_part", left, right)
