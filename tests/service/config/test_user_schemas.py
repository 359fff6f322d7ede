"""A user's own schemas in the settings."""

from datetime import date
from pathlib import Path

import pytest

from docmill.errors import MisconfiguredError
from docmill.schemas.outline import outline
from docmill.schemas.registry import REGISTRY
from docmill.service.config.fingerprint import pipeline_fingerprint
from docmill.service.config.settings import Settings

ORDER = """
[schemas.airtime]
critical = ["contract_number"]
types = ["purchase_order"]
model = "airtime.model"

[schemas.airtime.fields]
advertiser = "name of the advertiser"
contract_number = { description = "number of the contract", labels = ["Order / Rev"] }
flight_from = { kind = "date" }
status = { choices = ["confirmed", "cancelled"] }
"""


def settings_of(folder: Path, text: str) -> Settings:
    file = folder / "docmill.toml"
    file.write_text(text)
    return Settings.load(file)


def test_a_table_is_a_schema_with_labels_kinds_and_choices(tmp_path: Path) -> None:
    own = settings_of(tmp_path, ORDER).own

    schema = own.named["airtime"]
    fields = {one.path: one for one in outline(schema)}
    assert (schema.name, schema.critical) == ("airtime", ("contract_number",))
    assert fields["advertiser"].description == "name of the advertiser"
    assert fields["contract_number"].labels == ("Order / Rev",)
    assert fields["flight_from"].kind == "date"
    assert fields["status"].choices == ("confirmed", "cancelled")
    filled = schema.fields.model_validate({"flight_from": "2026-11-03"}).model_dump()
    assert filled["flight_from"] == date(2026, 11, 3)


def test_documents_of_its_types_are_read_by_it_and_all_others_as_before(tmp_path: Path) -> None:
    own = settings_of(tmp_path, ORDER).own

    assert own.by_type["purchase_order"].name == "purchase_order"
    assert "contract_number" in own.by_type["purchase_order"].fields.model_fields
    assert own.by_type["invoice"] is REGISTRY["invoice"]
    assert own.models() == {"airtime": Path("airtime.model"), "purchase_order": Path("airtime.model")}
    assert Settings().own.by_type == REGISTRY


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[schemas.a]\ncritical = []", "schemas.a.fields: Field required"),
        ("[schemas.a.fields]", "schemas.a.fields: Dictionary should have at least 1 item"),
        ('[schemas.a.fields]\nb = { kind = "float" }', "schemas.a.fields.b.kind: Input should be 'text'"),
        ('[schemas.a.fields]\nb = { sort = "date" }', "schemas.a.fields.b.sort: there is no such setting"),
        ("[schemas.a.fields]\nb = 1", "schemas.a.fields.b: "),
        ('[schemas.a]\ncritical = ["c"]\n[schemas.a.fields]\nb = ""', "schemas.a: this schema has no c"),
        ('[schemas.a.fields]\n_b = ""', "schemas.a: a value cannot be called '_b'"),
        ('[schemas.a]\ntypes = ["poem"]\n[schemas.a.fields]\nb = ""', "schemas.a.types.0: Input should be"),
        ('[schemas.invoice.fields]\nb = ""', "schemas: 'invoice' is a type of document"),
        (
            """[schemas]
            a = { types = ["invoice"], fields = { b = "" } }
            c = { types = ["invoice"], fields = { b = "" } }""",
            "schemas: 'a' and 'c' are both for documents of the type 'invoice'",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_key(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(MisconfiguredError) as error:
        settings_of(tmp_path, text)

    assert told in error.value.message


def test_results_depend_on_them_and_on_what_was_learned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    prints = [pipeline_fingerprint(Settings()), pipeline_fingerprint(settings_of(tmp_path, ORDER))]
    (tmp_path / "airtime.model").write_text("learned")
    prints.append(pipeline_fingerprint(settings_of(tmp_path, ORDER)))

    assert len(set(prints)) == 3
