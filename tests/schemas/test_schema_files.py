import json
from pathlib import Path

import pytest

from docmill.errors import MisconfiguredError
from docmill.schemas.outline import outline
from docmill.schemas.schema_files import schema_in

TOML = """
name = "order"
critical = ["contract_number"]
[fields]
advertiser = "name of the advertiser"
contract_number = { labels = ["Contract #"] }
gross_amount = { kind = "decimal" }
status = { choices = ["open", "closed"] }
"""


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_a_toml_file_names_fields_with_kinds_labels_and_choices(tmp_path: Path) -> None:
    schema = schema_in(str(write(tmp_path / "any.toml", TOML)))

    fields = {one.path: one for one in outline(schema)}
    assert (schema.name, schema.critical) == ("order", ("contract_number",))
    assert fields["advertiser"].description == "name of the advertiser"
    assert fields["contract_number"].labels == ("Contract #",)
    assert fields["gross_amount"].kind == "decimal"
    assert fields["status"].choices == ("open", "closed")


def test_a_json_schema_without_title_is_called_as_its_file(tmp_path: Path) -> None:
    content = {"type": "object", "properties": {"number": {"type": "string"}}}
    labels = write(tmp_path / "labels.json", '{"number": "Nr."}')

    schema = schema_in(str(write(tmp_path / "order.json", json.dumps(content))), labels)

    assert schema.name == "order"
    assert schema.labels == {"number": ("Nr.",)}


def test_a_model_is_taken_from_python(tmp_path: Path) -> None:
    file = write(
        tmp_path / "models.py", "from pydantic import BaseModel\nclass Order(BaseModel):\n    number: str\n"
    )

    assert schema_in(f"{file}:Order").critical == ("number",)


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("a.json", "[]", "a.json"),
        ("a.json", "{", "a.json"),
        ("a.toml", "name = 1", "a.toml"),
        ("a.toml", "fields.a.kind = 'odd'", "a.toml"),
        ("a.py", "", "a.py:Order"),
        ("a.py", "", "b.py:Order"),
        ("a.json", "{}", "b.json"),
    ],
)
def test_what_is_no_schema_is_refused(tmp_path: Path, name: str, text: str, place: str) -> None:
    write(tmp_path / name, text)

    with pytest.raises(MisconfiguredError):
        schema_in(str(tmp_path / place))


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("one = 1\ntwo = one / 0\n", "a.py:Order", "line 2: ZeroDivisionError"),
        ("class Order:\n", "a.py:Order", "does not run: IndentationError"),
        ("", "a.py", "say which model .*a.py:NAME"),
    ],
)
def test_python_that_is_no_schema_says_what_to_mend(tmp_path: Path, text: str, place: str, said: str) -> None:
    write(tmp_path / "a.py", text)

    with pytest.raises(MisconfiguredError, match=said):
        schema_in(str(tmp_path / place))


def test_a_label_may_stand_alone(tmp_path: Path) -> None:
    schema = write(tmp_path / "a.toml", "[fields]\nnumber = { labels = 'Order no.' }\ntotal = ''\n")
    labels = write(tmp_path / "labels.toml", "total = 'Sum'")

    assert schema_in(str(schema), labels).labels == {"number": ("Order no.",), "total": ("Sum",)}


def test_the_line_of_a_mistake_is_known_from_the_folder_it_stands_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "a.py", "one = 1\ntwo = one / 0\n")
    monkeypatch.chdir(tmp_path)

    with pytest.raises(MisconfiguredError, match=r"'a.py' does not run: line 2: ZeroDivisionError"):
        schema_in("a.py:Order")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[fields]\nnumber = { lables = ['No.'] }\n", "no key 'lables'; do you mean 'labels'"),
        ("titel = 'order'\n[fields]\nnumber = ''\n", "no key 'titel'"),
        ("[fields]\nnumber = 5\n", "and not 5"),
    ],
)
def test_what_a_schema_does_not_know_is_refused(tmp_path: Path, text: str, said: str) -> None:
    file = write(tmp_path / "a.toml", text)

    with pytest.raises(MisconfiguredError, match=said):
        schema_in(str(file))


def test_one_critical_field_may_stand_alone(tmp_path: Path) -> None:
    file = write(tmp_path / "a.toml", "critical = 'number'\n[fields]\nnumber = ''\n")

    assert schema_in(str(file)).critical == ("number",)
