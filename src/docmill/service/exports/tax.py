"""The amounts of a bill by tax rate, as far as its values tell them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

_CENT = Decimal("0.01")
_OFF = Decimal("0.02")
"""The most that rounding adds up to between the amounts that a bill prints."""


@dataclass(frozen=True, slots=True)
class TaxShare:
    """The part of a bill with one tax rate. rate: in percent. category: of VAT, if it has no tax."""

    rate: Decimal
    net: Decimal
    tax: Decimal
    category: str = ""

    @property
    def gross(self) -> Decimal:
        """Net and tax together."""
        return self.net + self.tax


def tax_shares(data: Mapping[str, Any], rates: Sequence[Decimal]) -> list[TaxShare] | None:
    """The shares of a bill, which together are its total; None if its values do not tell them.

    rates: that a bill may have, where no line names one. On a bill without VAT, lines may name the rate of
    the tax that the buyer owes.
    """
    gross, net, tax = (number_of(data.get(name)) for name in ("gross_total", "net_total", "tax_total"))
    if gross is None:
        return None
    categories = tax_categories(data)
    if categories and "S" not in categories and not tax and (net is None or abs(net - gross) <= _OFF):
        return [TaxShare(Decimal(0), gross, Decimal(0), " ".join(categories))]
    without_vat = " ".join(category for category in categories if category != "S")
    tip = number_of(data.get("tip")) or Decimal(0)
    if tip and net is not None and tax is not None and abs(net + tax + tip - gross) <= _OFF:
        gross -= tip
    else:
        tip = Decimal(0)
    lines: Sequence[Mapping[str, Any]] = data.get("lines") or []
    shares = _by_lines(lines, gross) or _by_totals(gross, net, tax, _rates_of(lines) or rates)
    if shares is None:
        return None
    shares = [share if share.rate else replace(share, category=without_vat) for share in shares]
    return [*shares, TaxShare(Decimal(0), tip, Decimal(0))] if tip else shares


def tax_categories(data: Mapping[str, Any]) -> list[str]:
    """The VAT categories of a bill, as codes of UNTDID 5305; none if they are not known."""
    return str(data.get("tax_category") or "").split()


def number_of(value: object) -> Decimal | None:
    """A stored amount; None if it is none."""
    try:
        return None if value is None else Decimal(str(value))
    except InvalidOperation:
        return None


def _rates_of(lines: Sequence[Mapping[str, Any]]) -> list[Decimal]:
    """The rates that lines name."""
    rates = {number_of(line.get("tax_rate")) for line in lines}
    return sorted(rate for rate in rates if rate is not None)


def _by_lines(lines: Sequence[Mapping[str, Any]], gross: Decimal) -> list[TaxShare] | None:
    """The shares by the sums of lines, whose amounts are net or gross."""
    sums: defaultdict[Decimal, Decimal] = defaultdict(Decimal)
    for line in lines:
        rate, amount = number_of(line.get("tax_rate")), number_of(line.get("net_amount"))
        if rate is None or amount is None:
            return None
        sums[rate] += amount
    if not sums:
        return None
    tolerance = _OFF + _CENT * len(lines) / 2
    net_shares = [TaxShare(rate, net, _cents(net * rate / 100)) for rate, net in sorted(sums.items())]
    if abs(sum(share.gross for share in net_shares) - gross) <= tolerance:
        return _settled(net_shares, gross)
    gross_shares = [_of_gross(rate, amount) for rate, amount in sorted(sums.items())]
    if abs(sum(share.gross for share in gross_shares) - gross) <= tolerance:
        return _settled(gross_shares, gross)
    return None


def _by_totals(
    gross: Decimal, net: Decimal | None, tax: Decimal | None, rates: Sequence[Decimal]
) -> list[TaxShare] | None:
    """The whole bill as one share, if one rate explains its totals."""
    if net is None and tax is None:
        return [_of_gross(rates[0], gross)] if len(rates) == 1 else None
    net = gross - (tax or 0) if net is None else net
    tax = gross - net if tax is None else tax
    if abs(net + tax - gross) > _OFF:
        return None
    fitting = [rate for rate in rates if abs(_cents(net * rate / 100) - tax) <= _OFF]
    # Of a small amount, several rates give the same tax.
    exact = [rate for rate in fitting if _cents(net * rate / 100) == tax] or fitting
    return [TaxShare(exact[0], gross - tax, tax)] if len(exact) == 1 else None


def _of_gross(rate: Decimal, gross: Decimal) -> TaxShare:
    net = _cents(gross * 100 / (100 + rate))
    return TaxShare(rate, net, gross - net)


def _settled(shares: list[TaxShare], gross: Decimal) -> list[TaxShare]:
    """The shares with the cents of rounding in the largest one, so that they are the total."""
    rest = gross - sum(share.gross for share in shares)
    if rest:
        largest = max(range(len(shares)), key=lambda index: abs(shares[index].gross))
        share = shares[largest]
        to_tax = share.rate != 0
        shares[largest] = TaxShare(
            share.rate, share.net if to_tax else share.net + rest, share.tax + rest if to_tax else share.tax
        )
    return [share for share in shares if share.gross]


def _cents(amount: Decimal) -> Decimal:
    return amount.quantize(_CENT, rounding=ROUND_HALF_UP)
