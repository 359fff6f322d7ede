from importlib import resources
from pathlib import Path

import pytest

from docmill.errors import MisconfiguredError
from docmill.schemas.document_types import DEFINITIONS, DOCUMENT_TYPES, load_types
from docmill.schemas.outline import outline
from docmill.schemas.registry import REGISTRY, in_schema_order, schema_of_type


def test_every_type_has_its_file_and_every_file_its_type() -> None:
    files = {
        file.name.removesuffix(".toml")
        for file in resources.files("docmill.schemas.document_types").iterdir()
    }

    assert tuple(DEFINITIONS) == DOCUMENT_TYPES == tuple(REGISTRY)
    assert set(DOCUMENT_TYPES) <= files


@pytest.mark.parametrize("name", DOCUMENT_TYPES)
def test_what_a_type_cannot_do_without_is_a_field_of_it(name: str) -> None:
    schema = REGISTRY[name]

    assert set(schema.critical) <= {leaf.path for leaf in outline(schema)}


TICKET = """
position = 70
label = "Ticket"
critical = ["weight"]
read_by = "labels"
summary = ["of {weight}"]
[fields]
weight = { name = "Weight", kind = "decimal" }
[[checks]]
name = "negative"
left = ["weight"]
relation = ">="
message = "The weight {weight} is negative."
"""
WORDS = """
[titles]
en = ["ticket"]
[labels.weight]
en = ["weight"]
"""


def _load(folder: Path, fields: str, words: str = WORDS) -> None:
    (folder / "words").mkdir()
    (folder / "ticket.toml").write_text(fields)
    (folder / "words" / "ticket.toml").write_text(words)
    for name, definition in load_types(folder).items():
        schema_of_type(name, definition)


def test_the_files_of_a_type_are_taken_as_they_are(tmp_path: Path) -> None:
    _load(tmp_path, TICKET)


@pytest.mark.parametrize(
    ("written", "mistaken", "message"),
    [
        ('"Ticket"', '"Ticket', r"ticket\.toml: .*line 3"),
        ('"labels"', '"label"', r"ticket\.toml: read_by: Input should be"),
        ("position = 70", "", r"ticket\.toml: position: Field required"),
        ('read_by = "labels"', 'extends = "invoise"', r"extends: there is no document type 'invoise'"),
        ('critical = ["weight"]', 'critical = ["wait"]', r"critical: the type has no field 'wait'"),
        ('left = ["weight"]', 'left = ["wait"]', r"checks\.negative: the type has no field 'wait'"),
        ("weight {weight} is", "weight {wait} is", r"checks\.negative: the type has no field 'wait'"),
        ('["of {weight}"]', '["of it"]', r"summary: no path in braces in 'of it'"),
        ("position = 70", 'position = 70\namount = "wait"', r"amount: the type has no field 'wait'"),
    ],
)
def test_a_mistake_in_the_file_of_fields_is_named_with_its_file(
    tmp_path: Path, written: str, mistaken: str, message: str
) -> None:
    assert written in TICKET

    with pytest.raises(MisconfiguredError, match=message):
        _load(tmp_path, TICKET.replace(written, mistaken))


@pytest.mark.parametrize(
    ("mistaken", "message"),
    [
        (WORDS.replace("labels.weight", "labels.wait"), r"labels in the file of words: .* no field 'wait'"),
        (WORDS.replace('["ticket"]', '"ticket"'), r"ticket\.toml: words\.titles\.en: "),
        (WORDS + "[title]", r"ticket\.toml: words\.title: Extra inputs"),
    ],
)
def test_a_mistake_in_the_file_of_words_is_named_with_its_file(
    tmp_path: Path, mistaken: str, message: str
) -> None:
    with pytest.raises(MisconfiguredError, match=message):
        _load(tmp_path, TICKET, mistaken)


def test_words_of_no_type_are_refused(tmp_path: Path) -> None:
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "tiket.toml").write_text(WORDS)

    with pytest.raises(MisconfiguredError, match=r"words/tiket\.toml: there is no document type 'tiket'"):
        load_types(tmp_path)


def test_data_comes_in_the_order_of_the_types_fields() -> None:
    data: dict[str, str] = dict.fromkeys(("iban", "note", "net_pay", "employer"), "")

    assert list(in_schema_order(data, "payslip")) == ["employer", "net_pay", "iban", "note"]
    assert list(in_schema_order(data, None)) == list(data)
