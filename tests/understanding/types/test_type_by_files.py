"""A document type is added by a file of fields and a file of words, and by nothing else."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from docmill.model.document import Document
from docmill.schemas.document_types import DEFINITIONS, load_types
from docmill.schemas.registry import REGISTRY, schema_of_type
from docmill.understanding.gate import RuleGate
from docmill.understanding.offline import understand

Typeset = Callable[..., Document]

FIELDS = """
position = 100
label = "Weighing slip"
critical = ["slip_number", "net_weight"]
read_by = "labels"
summary = ["{slip_number}", "of {weighed_on}"]

[recognition]
labels = 2
fields = ["gross_weight", "tare_weight", "net_weight"]

[fields]
slip_number = "Slip number"
weighed_on = { name = "Weighed on", kind = "date" }
gross_weight = { name = "Gross weight", kind = "decimal", description = "amount in kg" }
tare_weight = { name = "Tare weight", kind = "decimal", description = "amount in kg" }
net_weight = { name = "Net weight", kind = "decimal", description = "amount in kg" }

[[checks]]
name = "weights"
left = ["gross_weight", "-tare_weight"]
relation = "="
right = ["net_weight"]
message = "{gross_weight} less {tare_weight} is not {net_weight}."
"""
WORDS = """
[titles]
en = ["weighing slip"]
de = ["wiegeschein"]

[labels.slip_number]
en = ["slip no"]
de = ["schein nr"]
[labels.weighed_on]
en = ["weighed on"]
de = ["gewogen am"]
[labels.gross_weight]
en = ["first weighing"]
de = ["erstwiegung"]
[labels.tare_weight]
en = ["second weighing"]
de = ["zweitwiegung"]
[labels.net_weight]
en = ["load"]
de = ["ladung"]
"""
PAGE = """
Wiegeschein

Schein Nr.: W-7731
Gewogen am: 03.04.2026

Erstwiegung            18.240,00
Zweitwiegung            7.040,00
Ladung                 11.200,00
"""


@pytest.fixture
def weighing_slips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The type of two files in a folder of its own."""
    (tmp_path / "words").mkdir()
    (tmp_path / "weighing_slip.toml").write_text(FIELDS)
    (tmp_path / "words" / "weighing_slip.toml").write_text(WORDS)
    for name, definition in load_types(tmp_path).items():
        monkeypatch.setitem(DEFINITIONS, name, definition)  # pyright: ignore[reportArgumentType]
        monkeypatch.setitem(REGISTRY, name, schema_of_type(name, definition))


@pytest.mark.usefixtures("weighing_slips")
def test_a_type_of_two_files_is_recognised_read_and_checked(typeset: Typeset) -> None:
    document = typeset(PAGE)

    classification, extraction = understand(document)

    assert classification.document_type == extraction.document_type == "weighing_slip"
    assert classification.summary == "Weighing slip W-7731 of 2026-04-03."
    assert extraction.data.model_dump() == {
        "slip_number": "W-7731",
        "weighed_on": date(2026, 4, 3),
        "gross_weight": Decimal("18240.00"),
        "tare_weight": Decimal("7040.00"),
        "net_weight": Decimal("11200.00"),
    }
    assert RuleGate().judge(document, extraction, REGISTRY["weighing_slip"]).passed


@pytest.mark.usefixtures("weighing_slips")
def test_its_checks_are_those_of_its_file(typeset: Typeset) -> None:
    document = typeset(PAGE.replace("11.200,00", "11.300,00"))

    extraction = understand(document).extraction

    failures = RuleGate().judge(document, extraction, REGISTRY["weighing_slip"]).failures
    assert [(failure.check, failure.message) for failure in failures] == [
        ("weights", "18240.00 less 7040.00 is not 11300.00.")
    ]


@pytest.mark.usefixtures("weighing_slips")
def test_the_message_of_a_check_may_name_any_field_even_a_missing_one(
    typeset: Typeset, monkeypatch: pytest.MonkeyPatch
) -> None:
    definition = DEFINITIONS["weighing_slip"]
    check = definition.checks[0].model_copy(update={"message": "{slip_number}: {net_weight} of {weighed_on}"})
    changed = definition.model_copy(update={"checks": (check,)})
    monkeypatch.setitem(DEFINITIONS, "weighing_slip", changed)  # pyright: ignore[reportArgumentType]
    document = typeset(PAGE.replace("11.200,00", "11.300,00").replace("Gewogen am: 03.04.2026", ""))

    extraction = understand(document).extraction

    failures = RuleGate().judge(document, extraction, REGISTRY["weighing_slip"]).failures
    assert "W-7731: 11300.00 of nothing" in [failure.message for failure in failures]
