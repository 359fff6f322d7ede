import pytest

from docmill.understanding.page.value_runs import counted_names, label_before, label_over, names_in, values_in


def test_the_values_of_a_line_are_told_apart_by_their_kinds() -> None:
    text = "STK 171,6149 02.01.2020 350698041 EUR 46,4580"

    assert [(text[run.start : run.stop], run.kind) for run in values_in(text)] == [
        ("171,6149", "amount"),
        ("02.01.2020", "date"),
        ("350698041", "code"),
        ("EUR 46,4580", "amount"),
    ]


@pytest.mark.parametrize(
    ("text", "value", "label"),
    [
        ("Zu Lasten Konto 20311844 Valuta: 18.10.2021 EUR 76,34", "EUR 76,34", "Zu Lasten Konto"),
        ("Amount charged: value date 16.01.2025 CHF 67.72", "CHF 67.72", "Amount charged"),
        ("Trade date 03.02.2020 Market value EUR 24.56", "EUR 24.56", "Market value"),
        ("Trade date 03.02.2020 Market value EUR 24.56", "03.02.2020", "Trade date"),
        ("ISIN: SE0000108656 WKN: 850001", "850001", "WKN:"),
        ("ISIN (WKN) SE0000108656 (850001)", "850001", "WKN"),
        ("Credit LC-55120 dated 02/05/2025", "02/05/2025", "Credit LC-55120 dated"),
        ("Costs 10.00 EUR 20.00 EUR", "20.00 EUR", "Costs 10.00 EUR"),
        ("Subtotal before 5,00 EUR fees", "fees", "Subtotal before 5,00 EUR"),
        ("03.02.2020 EUR 24.56", "EUR 24.56", "03.02.2020"),
    ],
)
def test_a_value_behind_several_labels_has_its_own(text: str, value: str, label: str) -> None:
    at = text.index(value)

    assert label_before(text, at, at).strip() == label


@pytest.mark.parametrize(
    ("value", "label"),
    [
        ("STK 60", None),
        ("60,000", "Nominal"),
        ("30.08.2019", "Ex-Tag"),
        ("09.09.2019", "Zahltag"),
        ("2,60", "Kurs"),
    ],
)
def test_each_label_of_a_heading_stands_over_its_own_value(value: str, label: str | None) -> None:
    text = "STK 60,000 30.08.2019 09.09.2019 EUR 2,60"

    assert label_over("Nominal Ex-Tag Zahltag Kurs", text, text.index(value)) == label


def test_labels_at_the_edges_of_a_heading_stand_over_those_of_the_line() -> None:
    heading, text = "Valuta Konto Handelsplatz Endbetrag", "09.09.2019 372650044 9,9148 EUR 7,65"

    assert label_over(heading, text, text.index("EUR")) == "Endbetrag"
    assert label_over("Kurs Handelstag Provision", "5,10 3,20 1,00 14.05.2021", 0) == "Kurs"
    assert label_over("Kurs Handelstag Provision", "5,10 3,20 1,00 14.05.2021", 5) is None


@pytest.mark.parametrize("heading", ["Endbetrag", "Kurs 2 Valuta", "Bitte Kurs Valuta", ""])
def test_a_line_that_is_no_heading_names_no_value(heading: str) -> None:
    assert label_over(heading, "14.05.2021 5,10", 0) is None


def test_names_stand_between_values_without_units() -> None:
    text = "STK 250 Ahlgren Solar AB SE0000108656"

    assert [text[run.start : run.stop] for run in names_in(text)] == ["Ahlgren Solar AB"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("0.682 units Aurelis World Fund", "Aurelis World Fund"),
        ("STK 250 Ahlgren Solar AB", "Ahlgren Solar AB"),
        ("Bahnhofstrasse 55 Nürnberg", ""),
        ("Ahlgren Solar AB", ""),
    ],
)
def test_a_name_is_counted_behind_a_number_with_a_unit_of_shares(text: str, name: str) -> None:
    assert counted_names(text) == ({text.index(name)} if name else set())
