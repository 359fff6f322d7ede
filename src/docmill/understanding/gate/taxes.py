"""Checks of the tax against the rates of the country and against the printed table of rates."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

from docmill.model.result import Failure
from docmill.understanding.gate.countries import countries_of, is_of_paper
from docmill.understanding.gate.inputs import GateInput
from docmill.understanding.page.labels import LABELS
from docmill.understanding.text.money import CENT, WrittenAmount, find_amounts, number
from docmill.understanding.vocabulary import Concept

_HIGHEST = Decimal("0.3")
"""Share of the net total that taxes are at most, where the country is not known."""
_ROUNDING = Decimal("0.05")
"""Taxes are rounded by line, and what is paid in cash to coins."""
_MOST_LINES = 400
_MARKS = (".", ",")


class TaxRow(NamedTuple):
    """A row of a table of taxes on the page."""

    rate: Decimal
    net: Decimal
    tax: Decimal


def check_tax_rate(judged: GateInput) -> Iterator[Failure]:
    """A failure of a tax above every rate of its country, or printed beside a rate that it does not have.

    Less than the highest rate is plausible: some goods have a reduced rate, or none.
    """
    failure = _share_failure(judged) or _printed_rate_failure(judged)
    if failure is not None:
        yield failure


def _share_failure(judged: GateInput) -> Failure | None:
    net, tax, gross = (judged.amount(role) for role in ("net_total", "tax_total", "gross_total"))
    if net is None and gross is not None and tax is not None and abs(tax) < abs(gross):
        net = gross - tax
    if net is None or tax is None or not net or not tax or judged.document.embedded:
        return None
    if gross is not None and abs(net + tax - gross) > _ROUNDING:
        return None  # one of the three is wrong, which is said already
    countries, year = countries_of(judged), _year(judged)
    highest = max((country.highest_share(year) for country in countries.values()), default=_HIGHEST)
    if abs(tax) <= abs(net) * highest + _ROUNDING:
        return None
    share, most = (f"{100 * part:.1f} %" for part in (tax / net, highest))
    message = f"Tax {tax} is {share} of the net total {net}: more than {most}, the most {_where(judged)}."
    paths = (judged.path(role) for role in ("net_total", "tax_total"))
    fields = tuple(path for path in paths if path in judged.values)
    return Failure(check="tax_rate", message=message, fields=fields)


def _printed_rate_failure(judged: GateInput) -> Failure | None:
    """A failure of a tax on a line with one percentage, if the country has no such rate."""
    path = judged.path("tax_total")
    line = judged.line_of(path) if path in judged.values and not judged.document.embedded else None
    countries = countries_of(judged)
    if line is None or not countries or any(country.highest for country in countries.values()):
        return None
    written = {
        amount.digits
        for amount in find_amounts(f"{line.before} {line.after}", misread=False)
        if amount.percent
    }
    if len(written) != 1:
        return None
    digits = written.pop()
    year = _year(judged)
    known = frozenset[Decimal]().union(*(country.percents(year) for country in countries.values()))
    rates = {number(digits, mark) for mark in _MARKS}
    if not rates.isdisjoint({*known, Decimal(0)}):
        return None
    message = f"{judged.name(path)} {judged.values[path]} stands beside {digits} %, no rate {_where(judged)}."
    fields = (path,) if is_of_paper(judged) else (path, "currency")
    return Failure(check="tax_rate", message=message, fields=fields)


def _year(judged: GateInput) -> int | None:
    day = judged.day("issue_date")
    return None if day is None else day.year


def _where(judged: GateInput) -> str:
    codes = sorted(countries_of(judged))
    if not codes:
        return "that is plausible"
    return f"in {codes[0]}" if is_of_paper(judged) else f"where {judged.values.get('currency')} is paid"


def check_tax_rows(judged: GateInput) -> Iterator[Failure]:
    """A failure of a tax total that the printed table of several rates does not add up to."""
    tax = judged.amount("tax_total")
    if tax is None or judged.document.embedded:
        return
    rows = printed_tax_rows(judged)
    if len(rows) < 2 or len({row.rate for row in rows}) < len(rows):  # noqa: PLR2004 - several rates
        return
    total = sum((row.tax for row in rows), Decimal(0))
    if abs(abs(tax) - total) > _ROUNDING and all(abs(abs(tax) - row.tax) <= CENT for row in rows[:1]):
        message = f"Tax {tax} is that of one rate; those of all printed rates add up to {total}."
        yield Failure(check="tax_rows", message=message, fields=(judged.path("tax_total"),))


def check_printed_tax(judged: GateInput) -> Iterator[Failure]:
    """A failure if the page prints another tax than was read, one that is a printed rate of the net total.

    A tax that the customer withholds is deducted from the total, which is then less than net and tax.
    """
    net, tax, gross = (judged.amount(role) for role in ("net_total", "tax_total", "gross_total"))
    if net is None or judged.document.embedded:
        return
    printed = _taxes_of(judged, net)
    if len(printed) != 1:
        return
    other = printed.pop()
    if tax is None:
        is_other = gross is not None and abs(abs(gross) - abs(net) - other) > _ROUNDING and gross != net
    else:
        is_other = abs(abs(tax) - other) > _ROUNDING
    if is_other:
        path = judged.path("tax_total" if tax is not None else "gross_total")
        message = (
            f"{judged.name(path)} {judged.values[path]} does not fit the tax of {other} that is printed."
        )
        yield Failure(check="tax_rows", message=message, fields=(path,))


def check_items_taxed(judged: GateInput) -> Iterator[Failure]:
    """A failure of a total that is the sum of the items' net amounts, although each has a rate of tax."""
    gross = judged.amount("gross_total")
    if gross is None or judged.amount("tax_total") or judged.document.embedded:
        return
    rates = _of_items(judged, "tax_rate")
    amounts = _of_items(judged, "net_amount")
    if not amounts or len(rates) < len(amounts) or min(rates) <= 0:
        return
    if abs(sum(amounts, Decimal(0)) - gross) <= _ROUNDING:
        path = judged.path("gross_total")
        message = (
            f"{judged.name(path)} {gross} is the sum of the items, which have tax of {max(rates)} %;"
            " no tax was read."
        )
        yield Failure(check="tax_rows", message=message, fields=(path,))


def _of_items(judged: GateInput, cell: str) -> list[Decimal]:
    """The numbers of this cell of the items, such as all `net_amount`."""
    return [
        value
        for path, value in judged.values.items()
        if path.startswith("lines[") and path.endswith(f".{cell}") and isinstance(value, Decimal)
    ]


def _taxes_of(judged: GateInput, net: Decimal) -> set[Decimal]:
    """Amounts on lines with a tax label and one rate that are equal to that rate of the net total."""
    found: set[Decimal] = set()
    for line, amounts in _lines_of_rates(judged):
        if not any(Concept.TAX in label.meanings for label in LABELS.find(line)):
            continue
        for mark in _MARKS:
            rates = {number(amount.digits, mark) for amount in amounts if amount.percent}
            sums = {
                number(amount.digits, mark)
                for amount in amounts
                if amount.has_cents and not amount.percent and not amount.negative
            }
            if len(rates) == 1 and (made := abs(net) * min(rates) / 100):
                found |= {each for each in sums if abs(made - each) <= CENT}
    return found


def _lines_of_rates(judged: GateInput) -> Iterator[tuple[str, Sequence[WrittenAmount]]]:
    """The lines with a percentage, and the amounts on each."""
    lines = [line for page in judged.document.pages for line in page.text.splitlines() if "%" in line]
    for line in lines[:_MOST_LINES]:
        yield line, find_amounts(re.sub(r"\s+", " ", line), misread=False)


def printed_tax_rows(judged: GateInput) -> list[TaxRow]:
    """The lines with a rate and two amounts, of which one is the tax on the other at that rate."""
    rows: dict[TaxRow, None] = {}
    for _, amounts in _lines_of_rates(judged):
        for mark in _MARKS:
            rates = {number(amount.digits, mark) for amount in amounts if amount.percent}
            sums = [
                abs(number(amount.digits, mark))
                for amount in amounts
                if amount.has_cents and not amount.percent
            ]
            found = next(
                (
                    TaxRow(rate, net, tax)
                    for rate in rates
                    for net in sums
                    for tax in sums
                    if rate and tax and abs(net * rate / 100 - tax) <= CENT
                ),
                None,
            )
            if found is not None:
                rows.setdefault(found)
                break
    return list(rows)
