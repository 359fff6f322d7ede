"""The matchers that are compared: they answer in the form of the product, on documents made here."""

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from bench.accuracy.document_links import matchers, score_true_links, scored
from bench.data import link_seeds
from bench.data.link_seeds import seeds
from bench.fit import fitted_links
from bench.peers import exact_references, midday_formula, token_sort_ratio

from docmill.schemas.types import BankStatement, Invoice, Party, Transaction
from docmill.training.linked_documents.generator import generate_linked_documents
from docmill.training.linked_documents.seeds import made_up_seeds
from docmill.training.linked_documents.truth import GeneratedDocument

TENANT = generate_linked_documents(made_up_seeds(), seed=2, links=40, part="test")


def test_every_matcher_finds_some_links_and_names_known_records() -> None:
    known = {document.id for document in TENANT.documents}

    for name, match in matchers().items():
        matching = match(TENANT.documents)
        assert {
            each.partition("#")[0] for link in matching.links for each in (link.first_id, link.second_id)
        } <= known
        assert scored(match, [TENANT]).first_ranks.right, name


def test_nearly_all_discrepancies_are_told_by_the_true_links_and_hardly_any_other() -> None:
    labelled = [
        generate_linked_documents(made_up_seeds(), seed=seed, links=150, decoys_per_link=2)
        for seed in range(4)
    ]

    told = score_true_links(labelled).discrepancies

    assert told.true > 30
    assert told.precision > 0.95
    assert told.recall > 0.95


def test_equal_numbers_alone_find_what_was_not_edited() -> None:
    scores = scored(exact_references.match, [TENANT])

    assert 0.3 < scores.links.recall < 0.9


def documents(*, invoiced: str = "120.00", paid: str = "120.00", day: int = 20) -> list[GeneratedDocument]:
    """An invoice of the last of March and a payment in April without its number, and another invoice."""
    invoice = Invoice(
        number="RE-1",
        issue_date=date(2026, 3, 31),
        seller=Party(name="Meyer Logistik GmbH"),
        buyer=Party(name="Own Company Ltd"),
        currency="EUR",
        gross_total=Decimal(invoiced),
    )
    payment = Transaction(
        date=date(2026, 4, day),
        amount=-Decimal(paid),
        currency="EUR",
        counterparty="Meyer Logistik GmbH",
        description="Meyer Logistik",
    )
    statement = BankStatement(transactions=(payment,))
    other = invoice.model_copy(update={"seller": Party(name="Kettle Printing"), "gross_total": Decimal(9)})
    return [
        GeneratedDocument("other invoice", "invoice", other, "", "Kettle Printing"),
        GeneratedDocument("invoice", "invoice", invoice, "", "Meyer Logistik GmbH"),
        GeneratedDocument("statement", "bank_statement", statement, "", "Bank"),
    ]


@pytest.mark.parametrize(
    ("given", "states"),
    [
        (documents(), ["automatic"]),
        (documents(paid="117.60"), ["automatic"]),
        (documents(paid="60.00"), []),
        (documents(invoiced="1200.00", paid="1080.00"), ["automatic"]),
    ],
    ids=["the amount", "two percent less", "half of it", "ten percent less"],
)
def test_middays_formula_takes_names_with_amounts_that_are_near(
    given: list[GeneratedDocument], states: list[str]
) -> None:
    links = midday_formula.match(given).links

    assert [link.state for link in links] == states
    assert all((link.first_id, link.second_id) == ("invoice", "statement#1") for link in links)


def test_token_sort_ratio_takes_pairs_from_the_threshold_on() -> None:
    taken, suggested = (
        token_sort_ratio.matcher({"invoice_to_payment": threshold})(documents()).links
        for threshold in (50, 99)
    )

    assert [link.state for link in taken] == ["automatic"]
    assert [link.state for link in suggested] == ["suggested"]


def test_the_invoices_of_the_demo_are_always_among_the_seeds() -> None:
    numbers = {seed.number for seed in seeds()}

    assert {seed.number for seed in made_up_seeds()} <= numbers


@pytest.fixture
def no_shared_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    seeds.cache_clear()
    monkeypatch.setattr(link_seeds, "DATA", tmp_path / "nowhere")
    yield tmp_path
    seeds.cache_clear()


def test_it_is_told_that_the_real_invoices_are_missing(
    no_shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = seeds()

    told = capsys.readouterr().out
    assert len(found) == len(made_up_seeds())
    assert f"seeds: {len(found)} invoices" in told
    assert f"{no_shared_data / 'nowhere/einvoice'} is not here" in told


def test_weights_that_are_fitted_to_few_invoices_are_not_written(
    no_shared_data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = no_shared_data / "weights.json"
    monkeypatch.setattr(fitted_links, "WEIGHTS", weights)
    monkeypatch.setattr("sys.argv", ["fitted_links", "--write", "--links", "2", "--tenants", "1"])

    with pytest.raises(SystemExit) as ended:
        fitted_links.main()

    assert ended.value.code == 2
    assert "is not here" in capsys.readouterr().err
    assert not weights.exists()
