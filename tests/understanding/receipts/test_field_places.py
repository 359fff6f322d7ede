from collections.abc import Callable
from datetime import date

from docmill.model.document import Document
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.fields.findings import Finding
from docmill.understanding.page.layout import Span
from docmill.understanding.receipts.field_places import FORMS, field_places

Typeset = Callable[..., Document]


def test_every_printed_value_of_the_form_is_a_place(typeset: Typeset) -> None:
    candidates = candidates_of(typeset("Bill 48213   14/03/2024 18:42\nPrinted 15/03/2024 9.05PM"))

    assert {date(2024, 3, 14), date(2024, 3, 15)} == set(field_places(candidates, "issue_date", {}).values)
    assert {"18:42", "21:05"} == set(field_places(candidates, "time", {}).values)
    assert "48213" in field_places(candidates, "number", {}).values


def test_the_value_of_the_rules_is_a_place_even_if_no_candidate_has_it(typeset: Typeset) -> None:
    candidates = candidates_of(typeset("Ticket A B"))
    segment = candidates.layout.segments[0]
    ruled = {"number": Finding("A B", (Span(segment, 7, 10),), 0.6)}

    places = field_places(candidates, "number", ruled)

    assert list(places.values) == ["A B"]
    assert places.rows.shape[0] == 1


def test_a_page_without_values_has_no_places(typeset: Typeset) -> None:
    candidates = candidates_of(typeset("Thank you"))

    for path in FORMS:
        places = field_places(candidates, path, {})
        assert not places.values
        assert places.rows.shape == (0, 0)


def test_a_list_of_thousands_is_not_looked_at_whole(typeset: Typeset) -> None:
    candidates = candidates_of(typeset("\n".join(f"A{number:05}  B{number:05}" for number in range(400))))

    assert len(field_places(candidates, "number", {}).values) <= 120
