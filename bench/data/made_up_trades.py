"""Made-up contract notes and dividend papers of banks, each with the schema that somebody would write for it.

They calibrate the beliefs in fields of users' schemas on papers where days, amounts and numbers of one kind
stand beside each other: trade and settlement, count and price, gross and net, fees and taxes. The facts of a
paper fit each other. Labels stand beside, over or before their values, in columns and glued together; half of
the papers come as plain lines. Letters have more around that: addresses, references, a line of the trade
before its labels, tables of taxes and small print behind them. The same seed gives the same papers.
"""

import random
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

from bench.data.made_up_forms import MadeUpForm
from bench.data.type_paper_layouts import Text
from bench.data.type_papers import page_of
from docmill.model.document import Document
from docmill.model.result import Schema
from docmill.schemas.user_schemas import schema_of
from docmill.training.simulated_ocr import simulate_recognition

_CONTENT: Mapping[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
LANGUAGES = ("de", "en", "fr", "it", "es", "nl")
_CENT = Decimal("0.01")
_NUMBERS = ("count", "price", "gross", "net", "fees", "tax")
_DATES = ("trade_date", "settlement_date", "date")
_MOST_FIELDS = 9
_LEFT, _TOP, _PITCH, _SIZE = 50.0, 60.0, 17.0, 9.5


def made_up_trades(count: int, *, seed: int = 23) -> Iterator[MadeUpForm]:
    """Yield so many papers of each language."""
    for language in LANGUAGES:
        for number in range(count):
            yield _Paper(language, random.Random(f"{seed} {language} {number}")).form()


class _Paper:
    """One paper: its facts, how it writes them, and its lines, each a list of texts with gaps between."""

    def __init__(self, language: str, random_: random.Random) -> None:
        self._random, self._language = random_, language
        self._is_income = random_.random() < 0.4
        self._currency = random_.choice(("EUR", "EUR", "EUR", "CHF", "GBP", "USD"))
        self._is_behind = random_.random() < 0.4
        self._has_minus = random_.random() < 0.3
        self._mark = "." if language == "en" or self._currency == "CHF" else ","
        self._day_form = random_.choice(
            ("%d/%m/%Y", "%d.%m.%Y") if language != "en" else ("%d/%m/%Y", "%Y-%m-%d")
        )
        self._is_glued = random_.random() < 0.5
        self._is_letter = random_.random() < 0.6
        self._has_wkn = language == "de" and random_.random() < 0.6
        self.facts = self._draw()

    def _draw(self) -> dict[str, Any]:
        random_ = self._random
        is_fraction = random_.random() < 0.3
        count = (
            Decimal(random_.randrange(1_000, 99_999)).scaleb(-3)
            if is_fraction
            else Decimal(random_.randrange(2, 3000))
        )
        price = Decimal(random_.randrange(20, 4_000 if self._is_income else 400_000)).scaleb(-2)
        gross = (count * price).quantize(_CENT, ROUND_HALF_UP)
        has_costs = random_.random() < 0.75
        parts = [
            (gross * Decimal(share) / 1000).quantize(_CENT, ROUND_HALF_UP)
            for share in random_.sample(range(2, 260), 2)
        ]
        fees, tax = (
            (parts[0] if has_costs and not self._is_income else None),
            (parts[1] if has_costs and self._is_income else None),
        )
        self._is_sale = random_.random() < 0.5
        costs = (fees or 0) + (tax or 0)
        net = gross - costs if self._is_income or self._is_sale else gross + costs
        day = date(2015, 1, 5) + timedelta(days=random_.randrange(3900))
        later = day + timedelta(days=random_.randrange(1, 5))
        return {
            "isin": _isin(random_),
            "wkn": "".join(random_.choices("0123456789ABCDEFGHJKLMNPRSTUVWXYZ", k=5))
            + str(random_.randrange(10)),
            "security": self._security(),
            "count": count,
            "price": price,
            "gross": gross,
            "fees": fees,
            "tax": tax,
            "net": net,
            "currency": self._currency,
            "trade_date": None if self._is_income else day,
            "settlement_date": later,
            "date": later if self._is_income else day,
            "payment_date": later if self._is_income else None,
            # Papers are written on the day of the trade or soon after, those of income about its payment.
            "letter_date": later + timedelta(days=random_.choice((-3, -1, 0, 0, 1)))
            if self._is_income
            else day + timedelta(days=random_.choice((0, 0, 0, 1, 1, 3))),
            "ex_date": day if self._is_income else None,
            "order_number": str(random_.randrange(10**7, 10**9)),
            "account": str(random_.randrange(10**8, 10**10)),
        }

    def _security(self) -> str:
        words, choose = _CONTENT["securities"], self._random.choice
        if self._random.random() < 0.4:
            return f"{choose(words['houses'])} {choose(words['funds'])} {choose(words['wrappers'])}"
        return f"{choose(words['issuers'])} {choose(words['forms'])}{choose(words['kinds'])}"

    def form(self) -> MadeUpForm:
        """The paper as it is read, with its schema and the truth of each field."""
        lines = list(self._lines())
        printed = " ".join(text for line in lines for text in line)
        gap = 260.0
        texts: list[Text] = []
        for number, line in enumerate(lines):
            y = _TOP + _PITCH * number
            if self._is_glued:
                texts.append(Text(_LEFT, y, _SIZE, " ".join(line)))
            else:
                at = _LEFT
                for place, text in enumerate(line):
                    texts.append(Text(at, y, _SIZE, text))
                    at = max(
                        at + len(text) * _SIZE * 0.5 + 30, _LEFT + gap * (place + 1) / (len(line) - 1 or 1)
                    )
        page = page_of(texts, narrow=False)
        is_read = self._random.random() < 0.25
        document = (
            simulate_recognition(page, self._random)
            if is_read
            else Document("0" * 64, "application/pdf", [page])
        )
        schema, truth = self._schema(printed)
        return MadeUpForm(
            f"trades {self._language}", "glued" if self._is_glued else "columns", schema, truth, document
        )

    def _schema(self, printed: str) -> tuple[Schema, dict[str, str | None]]:
        random_ = self._random
        asked = [name for name in _CONTENT["fields"] if random_.random() < 0.75][:_MOST_FIELDS]
        properties: dict[str, dict[str, str]] = {}
        truth: dict[str, str | None] = {}
        for asks in asked:
            name, description = random_.choice(_CONTENT["fields"][asks]["names"])
            form = {"format": "date"} if asks in _DATES else {}
            properties[name] = {
                "type": "number" if asks in _NUMBERS else "string",
                **form,
                "description": description,
            }
            is_absent = (asks == "price" and self._is_income) or (asks == "wkn" and not self._has_wkn)
            fact = None if is_absent else self.facts[asks]
            written = fact.strftime(self._day_form) if isinstance(fact, date) else str(fact)
            is_printed = written in printed or isinstance(fact, Decimal)
            truth[name] = None if fact is None or not is_printed else str(fact)
        return schema_of({"title": "trade", "type": "object", "properties": properties}), truth

    def _label(self, name: str) -> str:
        return self._random.choice(_CONTENT["labels"][name][self._language])

    def _number(self, value: Decimal, *, places: int | None = None) -> str:
        text = f"{value:,}" if places is None else f"{value:,.{places}f}"
        return text if self._mark == "." else text.translate(str.maketrans(",.", ".,"))

    def _money(self, value: Decimal, *, is_debit: bool = False) -> str:
        text = self._number(value) + ("-" if is_debit and self._has_minus else "")
        return f"{text} {self._currency}" if self._is_behind else f"{self._currency} {text}"

    def _day(self, name: str) -> str:
        return self.facts[name].strftime(self._day_form)

    def _count(self) -> str:
        unit = self._random.choice(_CONTENT["units"][self._language])
        count: Decimal = self.facts["count"]
        places = self._random.choice((None, None, 2, 3, 4, 5)) if count == count.to_integral_value() else None
        text = self._number(count, places=places)
        return self._random.choice((f"{unit} {text}", f"{text} {unit}"))

    def _pair(self, label: str, value: str) -> list[str]:
        colon = self._random.choice((":", ""))
        return [f"{label}{colon}", value]

    def _lines(self) -> Iterator[list[str]]:
        titles = _CONTENT["income_titles" if self._is_income else "titles"]
        yield [self._random.choice(_CONTENT["places"]["names"])]
        heads = _CONTENT["letters"][self._language]["heads"]
        if self._is_letter:
            yield from self._said(self._random.sample(heads, self._random.randrange(2, len(heads))))
        yield self._pair(self._label("letter_date"), self._day("letter_date"))
        yield self._pair(self._label("account"), self.facts["account"])
        yield [self._random.choice(titles[self._language])]
        if self._is_letter and not self._is_income:
            yield from self._said([self._random.choice(_CONTENT["letters"][self._language]["trades"])])
        if self._random.random() < 0.6:
            yield self._pair(self._label("order_number"), self.facts["order_number"])
        blocks: list[Callable[[], Iterator[list[str]]]] = [self._security_lines, self._day_lines]
        self._random.shuffle(blocks)
        for block in blocks:
            yield from block()
        yield from self._amount_lines()
        if self._random.random() < 0.5:
            yield self._pair(self._label("venue"), "XETRA")
        if self._is_letter:
            feet = _CONTENT["letters"][self._language]["feet"]
            yield from self._said(self._random.sample(feet, self._random.randrange(2, len(feet))))

    def _said(self, templates: Sequence[str]) -> Iterator[list[str]]:
        """Lines of a letter, with facts of the paper and values that nobody asks for in their places."""
        random_ = self._random
        hour, minute, second = random_.randrange(8, 18), random_.randrange(60), random_.randrange(60)
        for template in templates:
            other_day = self.facts["settlement_date"] - timedelta(days=random_.randrange(20, 400))
            yield [
                template.format(
                    bank=random_.choice(_CONTENT["places"]["names"]),
                    person=random_.choice(_CONTENT["persons"]["names"]),
                    side=random_.choice(_CONTENT["letters"][self._language]["sides"]),
                    small=random_.randrange(1, 90),
                    code=random_.randrange(10_000, 99_999),
                    number=random_.randrange(10**6, 10**9),
                    time=f"{hour:02}:{minute:02}:{second:02}",
                    venue=random_.choice(("XETRA", "Tradegate", "")),
                    day=self._day("trade_date") if self.facts["trade_date"] else "",
                    other_day=other_day.strftime(self._day_form),
                    letter_date=self._day("letter_date"),
                    count=self._count(),
                    security=self.facts["security"],
                    money=self._money(
                        Decimal(random_.randrange(100, random_.choice((10_000, 900_000, 90_000_000)))).scaleb(
                            -2
                        )
                    ),
                )
            ]

    def _numbers(self) -> list[str]:
        """The numbers of the security, as they stand behind its name."""
        facts = self.facts
        if not self._has_wkn:
            return [facts["isin"]]
        pair = (facts["isin"], f"({facts['wkn']})"), (facts["wkn"], facts["isin"])
        return list(pair[self._is_behind])

    def _number_labels(self) -> list[str]:
        if not self._has_wkn:
            return ["ISIN"]
        return ["WKN", "ISIN"] if self._is_behind else ["ISIN", "(WKN)"]

    def _security_lines(self) -> Iterator[list[str]]:
        """The security, its numbers, count and price: each in its line, under headings, or in a sentence."""
        facts, label = self.facts, self._label
        price = self._pair(
            label("rate_per_share" if self._is_income else "price"), self._money(facts["price"])
        )
        match self._random.randrange(6):
            case 0:
                yield self._pair(label("security"), facts["security"])
                yield [
                    part
                    for named, number in zip(self._number_labels(), self._numbers(), strict=True)
                    for part in self._pair(named, number)
                ]
                yield self._pair(label("count"), self._count())
                yield price
            case 1:
                yield [label("security"), *self._number_labels()]
                yield [facts["security"], *self._numbers()]
                yield [label("count"), label("rate_per_share" if self._is_income else "price")]
                yield [self._count(), self._money(facts["price"])]
            case 2:
                yield [label("count"), label("security"), *self._number_labels()]
                yield [self._count(), facts["security"], *self._numbers()]
                yield price
            case 3:
                yield [f"{self._count()} {facts['security']}"]
                yield [f"ISIN: {facts['isin']}", *([f"WKN: {facts['wkn']}"] if self._has_wkn else [])]
                yield price
            case 4 if self._is_letter:
                numbers = [
                    f"{named.strip('()')}: {number.strip('()')}"
                    for named, number in zip(self._number_labels(), self._numbers(), strict=True)
                ]
                yield [label("count"), *numbers, label("rate_per_share" if self._is_income else "price")]
                yield [f"{self._count()} {facts['security']}", self._money(facts["price"])]
            case _ if self._is_income:
                yield [label("security"), facts["security"], *self._numbers()]
                yield self._pair(label("count"), self._count())
            case _:
                day = self._day("trade_date")
                sentence = _CONTENT["sentences"][self._language].format(
                    day=day,
                    count=self._count(),
                    security=facts["security"],
                    price=self._money(facts["price"]),
                )
                yield [sentence]
                yield [f"ISIN {facts['isin']}", *([f"WKN {facts['wkn']}"] if self._has_wkn else [])]

    def _day_lines(self) -> Iterator[list[str]]:
        names = ("ex_date", "payment_date") if self._is_income else ("trade_date", "settlement_date")
        shown = [name for name in names if self._random.random() < 0.85]
        match self._random.randrange(3):
            case 0:
                for name in shown:
                    yield self._pair(self._label(name), self._day(name))
            case 1 if len(shown) > 1:
                yield [self._label(name) for name in shown]
                yield [self._day(name) for name in shown]
            case _:
                yield [part for name in shown for part in self._pair(self._label(name), self._day(name))] or [
                    ""
                ]

    def _amount_lines(self) -> Iterator[list[str]]:
        """Gross, costs and net under each other; before the net perhaps its account and value date."""
        facts, money = self.facts, self._money
        is_debit = not (self._is_income or self._is_sale)
        if self._random.random() < 0.9:
            yield self._pair(
                self._label("gross_income" if self._is_income else "gross"),
                money(facts["gross"], is_debit=is_debit),
            )
        else:
            facts["gross"] = None
        for name in ("fees", "tax"):
            if facts[name] is not None:
                yield self._pair(self._label(name), money(facts[name], is_debit=True))
        label = self._label("net_debit" if is_debit else "net_credit")
        match self._random.randrange(5):
            case 4 if self._is_letter:
                # The amount stands behind its day of value, and the account under it.
                yield [
                    *self._pair(self._label("settlement_date"), self._day("settlement_date")),
                    money(facts["net"], is_debit=is_debit),
                ]
                yield [label, facts["account"]]
            case 0:
                yield [
                    f"{label} {facts['account']}",
                    f"{self._label('settlement_date')}: {self._day('settlement_date')}",
                    money(facts["net"], is_debit=is_debit),
                ]
            case 1:
                yield [self._label("settlement_date"), self._label("account"), label]
                yield [self._day("settlement_date"), facts["account"], money(facts["net"], is_debit=is_debit)]
            case _:
                yield self._pair(label, money(facts["net"], is_debit=is_debit))


def _isin(random_: random.Random) -> str:
    """A number of the form of an ISIN with a valid check digit (ISO 6166)."""
    body = random_.choice(("XS", "DE", "LU", "IE", "US")) + "".join(random_.choices("0123456789", k=9))
    digits = "".join(str(int(letter, 36)) for letter in body)
    doubled = [int(digit) * (2 if place % 2 == 0 else 1) for place, digit in enumerate(reversed(digits))]
    return body + str(-sum(value // 10 + value % 10 for value in doubled) % 10)
