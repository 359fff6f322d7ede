"""Made-up forms of kinds that docmill does not know, each with the schema that somebody would write for it.

They calibrate the beliefs in fields of one's own: labels that say the field in its own words, in other words
or not at all, values that are missing, values of other labels beside them, in layouts where the label stands
left of its value, over it, under it, in a heading, or in a sentence. The same seed gives the same forms.
"""

import random
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from bench.data.type_paper_layouts import Text
from bench.data.type_papers import page_of
from docmill.model.document import Document, letters_and_digits
from docmill.model.result import Schema
from docmill.schemas.user_schemas import schema_of
from docmill.training.simulated_ocr import simulate_recognition

_CONTENT: Mapping[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_WORDS: Mapping[str, Sequence[str]] = _CONTENT["words"]
_TYPES = {"amount": "number", "decimal": "number", "number": "number", "small": "integer"}
_MISSING = 0.15
"""Share of the fields that a form does not have."""
_LEFT, _RIGHT, _PITCH, _SIZE = 60.0, 330.0, 20.0, 10.0


class MadeUpForm(NamedTuple):
    """A form with its schema. truth: the text of each field's value, None where the form has none."""

    kind: str
    layout: str
    schema: Schema
    truth: Mapping[str, str | None]
    document: Document

    def is_right(self, field: str, value: object) -> bool:
        """Return whether a value that was read is the true one."""
        true = self.truth[field]
        if true is None:
            return False
        if isinstance(value, date):
            return value.isoformat() == true
        if isinstance(value, Decimal):
            return abs(value) == Decimal(true)  # a minus says that an account is debited
        return letters_and_digits(str(value)) == letters_and_digits(true)


class _Entry(NamedTuple):
    """A label with its value, printed."""

    label: str
    value: str


_Layout = Callable[[Sequence[_Entry], random.Random], Iterator[Text]]


def made_up_forms(count: int, *, seed: int = 11) -> Iterator[MadeUpForm]:
    """Yield so many forms of each kind, in all layouts in turn; half of them are read from a picture."""
    for kind, form in _CONTENT["forms"].items():
        for number in range(count):
            random_ = random.Random(f"{seed} {kind} {number}")
            yield _made_up_form(kind, form, _LAYOUTS[number % len(_LAYOUTS)], random_)


def _made_up_form(kind: str, form: Mapping[str, Any], layout: _Layout, random_: random.Random) -> MadeUpForm:
    language = _CONTENT["languages"].get(kind, "en")
    write = _Writer(language, random_)
    truth: dict[str, str | None] = {}
    entries: list[_Entry] = []
    for name, (value_kind, _, labels) in form["fields"].items():
        printed, true = write.value(value_kind)
        truth[name] = None if random_.random() < _MISSING else true
        if truth[name] is not None:
            label = random_.choice(labels.split("|")).removeprefix("~")
            entries.append(_Entry(label, printed))
    for label, value_kind in form["decoys"].items():
        if random_.random() < 0.75:
            entries.append(_Entry(label, write.value(value_kind)[0]))
    random_.shuffle(entries)
    title = random_.choice(form["title"].split("|")).strip()
    texts = [Text(_LEFT, 70, 18, title), *layout(entries, random_)]
    page = page_of(texts, narrow=False)
    is_read = random_.random() < 0.5
    document = (
        simulate_recognition(page, random_) if is_read else Document("0" * 64, "application/pdf", [page])
    )
    return MadeUpForm(kind, layout.__name__.strip("_"), _schema(form["fields"]), truth, document)


def _schema(fields: Mapping[str, Sequence[str]]) -> Schema:
    properties: dict[str, dict[str, str]] = {}
    for name, (kind, description, _) in fields.items():
        form = {"format": "date"} if kind == "date" else {}
        properties[name] = {"type": _TYPES.get(kind, "string"), **form, "description": description}
    return schema_of({"title": "form", "type": "object", "properties": properties})


class _Writer:
    """Writes the values of one form, all dates and amounts in one way."""

    def __init__(self, language: str, random_: random.Random) -> None:
        self._random = random_
        self._months = _CONTENT["months"][language]
        self._day_form = random_.choice(
            ("iso", "points", "words") if language != "fr" else ("slashes", "words")
        )
        self._is_comma = language != "en"
        self._currency = random_.choice(
            ("", " EUR", " €") if self._is_comma else ("", " GBP", " EUR", " USD")
        )

    def value(self, kind: str) -> tuple[str, str]:
        """Return a value of this kind as it is printed, and the same as the truth says it."""
        match kind:
            case "date":
                return self._date()
            case "amount" | "decimal" | "number":
                return self._number(kind)
            case _:
                text = self._text(kind)
                return text, text

    def _date(self) -> tuple[str, str]:
        day = date(2023, 1, 1) + timedelta(days=self._random.randrange(1400))
        month = self._months[day.month - 1]
        printed = {
            "iso": day.isoformat(),
            "points": f"{day:%d.%m.%Y}",
            "slashes": f"{day:%d/%m/%Y}",
            "words": f"{day.day} {month} {day.year}",
        }
        return printed[self._day_form], day.isoformat()

    def _number(self, kind: str) -> tuple[str, str]:
        random_ = self._random
        if kind == "amount":
            value = Decimal(random_.randrange(2_000, 900_000)) / 100
            printed = f"{value:,.2f}"
        elif kind == "decimal":
            value = Decimal(random_.randrange(10, 200)) / 10
            printed = f"{value:.1f}"
        else:
            value = Decimal(random_.randrange(100, 99_999))
            printed = f"{value:,}" if random_.random() < 0.5 else str(value)
        if self._is_comma:
            printed = printed.translate(str.maketrans(",.", ".,"))
        return printed + (self._currency if kind == "amount" else ""), str(value)

    def _text(self, kind: str) -> str:
        choose, number = self._random.choice, self._random.randrange
        word = {name: choose(words) for name, words in _WORDS.items()}
        letters = "".join(self._random.choices("ABCDEFGHKLMNPRSTXYZ", k=5))
        digits = number(10_000, 9_999_999)
        said = {
            "person": f"{word['titles']}{word['first']} {word['last']}",
            "firm": f"{word['firms']} {word['trades']} {word['legal']}".strip(),
            "place": word["places"],
            "phrase": f"{choose(_WORDS['adjectives'])} {word['adjectives']} {word['nouns']}",
            "word": word["makes"],
            "small": str(number(1, 60)),
            "plate": choose(
                (
                    f"{letters[:2]} {number(10, 99)} {letters[2:]}",
                    f"{letters[:2]}-{letters[2:4]} {number(100, 9999)}",
                )
            ),
            "code": choose(
                (f"{letters[:2]}-{digits}", str(digits), f"{letters[:2]}{digits}", f"{digits}-{letters[:2]}")
            ),
        }
        return said[kind]


def _lines(entries: Sequence[_Entry], random_: random.Random) -> Iterator[Text]:
    """`Label: value`, one under the other, with a colon, dots or nothing between them."""
    between = random_.choice((": ", " ........ ", "  ", " - "))
    for index, entry in enumerate(entries):
        yield Text(_LEFT, 120 + _PITCH * index, _SIZE, f"{entry.label}{between}{entry.value}")


def _columns(entries: Sequence[_Entry], random_: random.Random) -> Iterator[Text]:
    """Labels in one column, values in another."""
    at = random_.choice((180.0, 240.0))
    for index, entry in enumerate(entries):
        yield Text(_LEFT, 120 + _PITCH * index, _SIZE, entry.label)
        yield Text(at, 120 + _PITCH * index, _SIZE, entry.value)


def _pairs(entries: Sequence[_Entry], random_: random.Random) -> Iterator[Text]:
    """Two labels with their values in each row."""
    colon = random_.choice((":", ""))
    for index, entry in enumerate(entries):
        x, y = (_RIGHT if index % 2 else _LEFT), 120 + _PITCH * (index // 2)
        yield Text(x, y, _SIZE, entry.label + colon)
        yield Text(x + 110, y, _SIZE, entry.value)


def _boxes(entries: Sequence[_Entry], random_: random.Random) -> Iterator[Text]:
    """Small labels, each over its value, three in a row."""
    pitch = random_.choice((14.0, 17.0))
    for index, entry in enumerate(entries):
        x, y = _LEFT + 165 * (index % 3), 120 + 46 * (index // 3)
        yield Text(x, y, 7, entry.label)
        yield Text(x, y + pitch, _SIZE, entry.value)


def _headings(entries: Sequence[_Entry], random_: random.Random) -> Iterator[Text]:
    """Rows of headings with a row of values under each."""
    count = random_.choice((3, 4))
    for begin in range(0, len(entries), count):
        y = 120 + 55 * (begin // count)
        for index, entry in enumerate(entries[begin : begin + count]):
            x = _LEFT + 480 / count * index
            yield Text(x, y, _SIZE, entry.label)
            yield Text(x, y + 16, _SIZE, entry.value)


def _signatures(entries: Sequence[_Entry], random_: random.Random) -> Iterator[Text]:
    """Lines, and signatures with what they are under them."""
    del random_
    signed = [entry for entry in entries if not any(map(str.isdecimal, entry.value))]
    lines = [entry for entry in entries if entry not in signed]
    for index, entry in enumerate(lines):
        yield Text(_LEFT, 120 + _PITCH * index, _SIZE, f"{entry.label}: {entry.value}")
    for index, entry in enumerate(signed):
        x, y = (_RIGHT if index % 2 else _LEFT), 400 + 50 * (index // 2)
        yield Text(x, y, _SIZE, entry.value)
        yield Text(x, y + 14, 7, entry.label)


def _sentences(entries: Sequence[_Entry], random_: random.Random) -> Iterator[Text]:
    """A letter: labels and values within sentences, wrapped."""
    said: list[str] = []
    for entry in entries:
        label = entry.label[:1].lower() + entry.label[1:]
        form = random_.choice(
            (
                "The {label} is {value}.",
                "We have noted {value} as {label}.",
                "{Label}: {value};",
                "with {label} {value},",
            )
        )
        said.append(form.format(label=label, Label=entry.label, value=entry.value))
    words = " ".join(said).split()
    line, y = "", 120.0
    for word in words:
        if len(line) + len(word) > 84:
            yield Text(_LEFT, y, _SIZE, line)
            line, y = "", y + 15
        line = f"{line} {word}".strip()
    yield Text(_LEFT, y, _SIZE, line)


def _figures(entries: Sequence[_Entry], random_: random.Random) -> Iterator[Text]:
    """Values of words as lines; figures at the right margin, as in a bill."""
    del random_
    for index, entry in enumerate(entries):
        y = 120 + _PITCH * index
        is_figure = any(map(str.isdecimal, entry.value))
        yield Text(_LEFT, y, _SIZE, entry.label)
        width = len(entry.value) * _SIZE * 0.5
        yield Text(520 - width if is_figure else 200, y, _SIZE, entry.value)


_LAYOUTS: Sequence[_Layout] = (
    *(_lines, _columns, _pairs, _boxes, _headings, _signatures, _sentences, _figures),
)
