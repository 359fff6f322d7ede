"""Numbers of known formats, such as ISIN or IMEI: which format a name means, and where one stands in a text.

The formats are the modules of python-stdnum, found by their names, and the patterns of the file
`standard_numbers.toml`.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from importlib import import_module, resources
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, cast

import stdnum
from pydantic_core import SchemaError, SchemaValidator, ValidationError, core_schema

from docmill.understanding.text.codes import Code
from docmill.understanding.text.folding import fold

_TABLE: dict[str, Any] = tomllib.loads(
    resources.files(__package__ or "").joinpath("standard_numbers.toml").read_text(encoding="utf-8")
)
_AMBIGUOUS = frozenset(_TABLE["ambiguous"])
_PATTERNS = {name: re.compile(pattern) for name, pattern in _TABLE["patterns"].items()}
OF_SCHEMA = "pattern "
"""Prefix of the name of a format that is a regular expression of a schema; the expression follows."""
_WORD = re.compile(r"[^\W_]+")
_GROUP = re.compile(r"(?<![^\W_])[A-Z0-9*\u2022][A-Za-z0-9*\u2022]*(?![^\W_])")
_JOINT = re.compile(r" ?[\-./] ?| |\u00a0")
_SEPARATORS = re.compile(r"[ \-./\u00a0]")
_ISIN = re.compile(r"(?<![^\W_])[A-Z]{2}[A-Z0-9]{9}\d(?![^\W_])")
_JOINT_OF_ISIN = re.compile(r"[ \u00a0]?[(/,|-]?[ \u00a0]?|\) ?")
_MOST_GROUPS = 8
_LONGEST = 40
_FEWEST_LETTERS = 3
_FIRST_WORDS = 4
"""Words at the beginning of a description that say what the field is."""


@cache
def _modules() -> dict[str, tuple[str, ...]]:
    """The modules of python-stdnum by their last names: `isin`, or `vat` of several countries."""
    found: dict[str, list[str]] = {}
    for module in iter_modules(stdnum.__path__):
        if not module.ispkg:
            found.setdefault(module.name, []).append(module.name)
            continue
        for inner in iter_modules([str(Path(path) / module.name) for path in stdnum.__path__]):
            found.setdefault(inner.name, []).append(f"{module.name}.{inner.name}")
    # That of the world counts, not those of single countries.
    return {
        name: (name,) if name in several else tuple(several)
        for name, several in found.items()
        if len(name) >= _FEWEST_LETTERS and name not in _AMBIGUOUS
    }


def formats_named(name: str, description: str = "", labels: Sequence[str] = ()) -> tuple[str, ...]:
    """The formats that a field has by a word of its name, or by an acronym of its labels or its description.

    `isin`, `ISIN of the security` and `vehicle identification number` name one; none is named by most.
    """
    first = " ".join(_WORD.findall(description)[:_FIRST_WORDS])
    if formats := _formats_of_name(name):
        return formats
    return next((formats for text in (*labels, first) if (formats := _formats_of_text(text))), ())


def _formats_of_text(text: str) -> tuple[str, ...]:
    """The formats that a label or description names: `Rif.` is a reference, and no RIF of Venezuela."""
    words: list[str] = _WORD.findall(text)
    acronyms = [word for word in words if word.isupper() and len(word) >= _FEWEST_LETTERS]
    by_acronym = next((formats for word in acronyms if (formats := _formats_of_name(word))), ())
    return by_acronym or _formats_of_phrase(text)


def _formats_of_name(text: str) -> tuple[str, ...]:
    spoken = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    words: list[str] = _WORD.findall(fold(spoken))
    by_word = next((formats for word in words if (formats := _modules().get(word))), ())
    return by_word or _formats_of_phrase(" ".join(words))


def _formats_of_phrase(text: str) -> tuple[str, ...]:
    padded = f" {fold(text)} "
    return tuple(
        name
        for name, phrases in _TABLE["names"].items()
        if any(f" {phrase} " in padded for phrase in (*phrases, *([name] if name in _PATTERNS else ())))
    )


@lru_cache(maxsize=200)
def _schema_pattern(pattern: str) -> SchemaValidator | None:
    """A matcher of whole texts, which takes linear time; None for an expression that it cannot read."""
    try:
        return SchemaValidator(core_schema.str_schema(pattern=f"^(?:{pattern})$"))
    except SchemaError:
        return None


def compact_number(format_name: str, text: str) -> str | None:
    """The number without the marks between its parts; None if it is not of the format, checksum included."""
    if format_name.startswith(OF_SCHEMA):
        validator = _schema_pattern(format_name.removeprefix(OF_SCHEMA))
        try:
            return None if validator is None else validator.validate_python(text, strict=True)
        except ValidationError:
            return None
    if format_name in _PATTERNS:
        compact = _SEPARATORS.sub("", text)
        return compact if _PATTERNS[format_name].fullmatch(compact) else None
    module = cast("Any", import_module(f"stdnum.{format_name}"))
    for written in (text, _SEPARATORS.sub("", text)):
        if module.is_valid(written):
            return str(module.compact(written))
    return None


def has_checksum(format_name: str, number: str) -> bool:
    """True if no other digit in any place of a valid number makes another valid one."""
    if format_name.startswith(OF_SCHEMA) or format_name in _PATTERNS:
        return False
    places = [place for place, letter in enumerate(number) if letter.isdecimal()]
    others = (f"{number[:place]}{(int(number[place]) + 1) % 10}{number[place + 1 :]}" for place in places)
    return bool(places) and all(compact_number(format_name, other) is None for other in others)


def is_beside_isin(text: str, number: str) -> bool:
    """True if a number stands right beside an ISIN, as the number of the security in one country does."""
    return any(
        _JOINT_OF_ISIN.fullmatch(before) is not None
        for code in _ISIN.finditer(text)
        if number not in code[0] and compact_number("isin", code[0])
        for before in (
            text[code.end() : text.find(number, code.end())],
            text[text.rfind(number, 0, code.start()) + len(number) : code.start()],
        )
    )


def find_isin(text: str) -> int | None:
    """The place at which the first valid ISIN of a text begins."""
    return next((code.start() for code in _ISIN.finditer(text) if compact_number("isin", code[0])), None)


def find_numbers(text: str, formats: Iterable[str]) -> Iterator[Code]:
    """The numbers of any of the formats in a text, without the marks between their parts.

    valid: its checksum holds. Numbers of a format without a checksum are not `valid` and of one word each.
    """
    groups = list(_GROUP.finditer(text))
    at, names = 0, tuple(formats)
    while at < len(groups):
        code, count = _number_at(text, groups, at, names)
        if code is not None:
            yield code
        at += count


def _number_at(
    text: str, groups: Sequence[re.Match[str]], at: int, formats: Sequence[str]
) -> tuple[Code | None, int]:
    """The longest number that begins with a group, and the groups that it takes."""
    last = at
    while (
        last + 1 < len(groups)
        and last + 1 - at < _MOST_GROUPS
        and _JOINT.fullmatch(text, groups[last].end(), groups[last + 1].start())
    ):
        last += 1
    start = groups[at].start()
    if text[max(0, start - 1) : start] in (",", "."):
        return None, 1  # the rest of an amount
    for end in range(last, at - 1, -1):
        stop = groups[end].end()
        written = text[start:stop]
        if (
            len(written) > _LONGEST
            or not any(map(str.isdecimal, written))
            or re.match(r"[,.]\d", text[stop:])
        ):
            continue
        for name in formats:
            acronym = name.rpartition(".")[2].upper()
            label = re.match(rf"{re.escape(acronym)}[\W_]*", written)  # `ISINDE0007164600`, `IMO 9074729`
            before = label.end() if label else 0
            number = compact_number(name, written[before:])
            if number is None:
                continue
            is_checked = has_checksum(name, number)
            if is_checked or end == at or name in _PATTERNS or name.startswith(OF_SCHEMA):
                return Code(number, start + before, stop, is_checked), end - at + 1
    return None, 1
