"""The table of permissions, compared with the reference that shows it."""

import re
from pathlib import Path

from docmill.service.people.access import SCOPES
from docmill.service.people.permissions import RULES

REFERENCE = Path(__file__).parents[3] / "docs/reference/api.md"
ANSWERS = {
    "documents": "of documents",
    "receipts": "ids, numbers, and what was sent",
    "organisation": "of the organisation",
}


def test_the_reference_shows_the_table_of_permissions() -> None:
    shown = re.findall(r"^\| (`\w+`(?: \+ `\w+`)*) \| (.+) \| (.+) \|$", REFERENCE.read_text(), re.MULTILINE)

    table = {
        (frozenset(re.findall(r"\w+", scopes)), allows, answers)
        for scopes, allows, answers in shown
        if set(re.findall(r"\w+", scopes)) <= set(SCOPES)
    }
    assert table == {(rule.scopes, rule.allows, ANSWERS[rule.answer]) for rule in RULES.values()}
