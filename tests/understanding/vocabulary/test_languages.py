from collections.abc import Iterator, Mapping
from importlib import resources
from typing import cast

import pytest
from pydantic import BaseModel

from docmill.errors import MisconfiguredError
from docmill.understanding.text.folding import fold
from docmill.understanding.vocabulary import CODES, LANGUAGES, Concept, Language
from docmill.understanding.vocabulary.languages import parse_language

_FOLDER = resources.files("docmill.understanding.vocabulary")
_DUTCH = (_FOLDER / "nl.toml").read_text(encoding="utf-8")
_FOLDED = (
    "common",
    "small",
    "numbers",
    "glued",
    "joining",
    "firms",
    "confirmation",
    "dates",
    "address",
    "fields",
    "terms",
)
"""What is compared with text whose letters have lost their accents."""
_NEEDED = (
    Concept.INVOICE_NUMBER, Concept.ORDER_NUMBER, Concept.DATE, Concept.INVOICE_DATE, Concept.DUE_DATE,
    Concept.TOTAL, Concept.TAX, Concept.DUE, Concept.SELLER, Concept.BUYER,
)  # fmt: skip


@pytest.fixture(params=LANGUAGES, ids=lambda language: language.code)
def language(request: pytest.FixtureRequest) -> Language:
    return request.param


def _words(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for word in cast("tuple[str, ...]", value):
            yield from _words(word)
    elif isinstance(value, Mapping):
        for inner in cast("Mapping[str, object]", value).values():
            yield from _words(inner)
    elif isinstance(value, BaseModel):
        for _, inner in value:
            yield from _words(inner)


def test_a_language_is_known_by_its_file_in_the_folder() -> None:
    files = {file.name for file in _FOLDER.iterdir() if file.name.endswith(".toml")}

    assert {f"{code}.toml" for code in CODES} == files


def test_every_language_names_the_values_that_most_papers_have(language: Language) -> None:
    if language.code != "ms":  # its papers are mixed with English
        assert set(_NEEDED) <= set(language.labels)
        assert {"invoice", "receipt", "purchase_order", "delivery_note", "bank_statement"} <= set(
            language.titles
        )


def test_words_compared_as_they_are_have_no_capitals_and_no_accents(language: Language) -> None:
    words = [word for name in _FOLDED for word in _words(getattr(language, name))]

    assert [word for word in words if fold(word) != word and word not in language.dates.locales] == []


def test_a_file_without_a_key_is_refused_by_its_name() -> None:
    with pytest.raises(MisconfiguredError, match=r"nl\.toml: legal: Field required"):
        parse_language(_DUTCH.replace("\nlegal =", "\nlegals ="), "nl.toml")


def test_a_file_without_a_section_is_refused_by_its_name() -> None:
    with pytest.raises(MisconfiguredError, match=r"nl\.toml: columns: Field required; columnz: Extra inputs"):
        parse_language(_DUTCH.replace("[columns]", "[columnz]"), "nl.toml")


def test_a_key_of_a_section_that_is_missing_is_named_with_its_section() -> None:
    with pytest.raises(MisconfiguredError, match=r"nl\.toml: address\.regions: Field required"):
        parse_language(_DUTCH.replace("\nregions = ", "\n# "), "nl.toml")


def test_a_label_of_no_known_meaning_is_refused() -> None:
    with pytest.raises(
        MisconfiguredError, match=r"nl\.toml: labels\.tulip\.\[key\]: Input should be 'invoice_number'"
    ):
        parse_language(_DUTCH.replace("[labels]", '[labels]\ntulip = ["tulp"]'), "nl.toml")


@pytest.mark.parametrize(
    ("written", "wrong", "message"),
    [
        ('code = "nl"', "code = 1", r"nl\.toml: code: Input should be a valid string"),
        ("decimal_comma = true", 'decimal_comma = "yes"', r"decimal_comma: Input should be a valid boolean"),
        ('numbers = ["nr", "nummer"]', 'numbers = "nr"', r"numbers: Input should be a valid tuple"),
        ('"factuur" = 3', '"factuur" = "much"', r"titles\.invoice\.factuur: Input should be a valid number"),
        ("months = {}", "months = []", r"dates\.months: Input should be a valid dictionary"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_by_its_name(written: str, wrong: str, message: str) -> None:
    assert written in _DUTCH

    with pytest.raises(MisconfiguredError, match=message):
        parse_language(_DUTCH.replace(written, wrong), "nl.toml")


def test_a_file_that_is_no_toml_is_refused_by_its_name() -> None:
    with pytest.raises(MisconfiguredError, match=r"xx\.toml: "):
        parse_language("code = ", "xx.toml")
