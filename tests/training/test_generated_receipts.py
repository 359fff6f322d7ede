import pytest

from docmill.model.document import letters_and_digits
from docmill.training.generated_receipts import generate_receipts
from docmill.training.receipt_texts import words
from docmill.training.receipts import LabelledReceipt, prepare

NAME, ADDRESS, TOTAL = "seller.name", "seller.address", "gross_total"


@pytest.fixture(scope="module")
def receipts() -> list[LabelledReceipt]:
    return generate_receipts(60, seed=3)


def printed(receipt: LabelledReceipt) -> str:
    return letters_and_digits(" ".join(receipt.document.pages[0].words.texts))


def test_the_same_seed_gives_the_same_receipts(receipts: list[LabelledReceipt]) -> None:
    again = generate_receipts(60, seed=3)

    assert [receipt.truth for receipt in again] == [receipt.truth for receipt in receipts]
    assert list(map(printed, again)) == list(map(printed, receipts))


def test_every_word_of_a_name_and_an_address_is_on_the_page(receipts: list[LabelledReceipt]) -> None:
    for receipt in receipts:
        page = printed(receipt)
        texts = f"{receipt.truth[NAME]} {receipt.truth[ADDRESS]}".split()
        assert all(letters_and_digits(word) in page for word in texts), receipt.key


def test_names_and_addresses_are_among_the_spans_that_are_scored(receipts: list[LabelledReceipt]) -> None:
    prepared = [prepare(receipt) for receipt in receipts]
    named = [document for document in prepared if document.example.truth[NAME]]
    addressed = [document for document in prepared if document.example.truth[ADDRESS]]

    assert sum(document.right["name"].any() for document in named) >= 0.95 * len(named)
    assert sum(document.right["address"].any() for document in addressed) >= 0.9 * len(addressed)


def test_some_papers_lack_what_is_asked_for(receipts: list[LabelledReceipt]) -> None:
    for path in (NAME, ADDRESS, TOTAL):
        missing = [receipt for receipt in receipts if receipt.truth[path] == ""]
        assert 0 < len(missing) < len(receipts) / 2, path
        assert all(prepare(receipt).lacks(path) for receipt in missing)


def test_totals_are_among_the_amounts_that_are_scored(receipts: list[LabelledReceipt]) -> None:
    totalled = [prepare(receipt) for receipt in receipts if receipt.truth[TOTAL]]

    assert sum(document.total.any() for document in totalled) >= 0.85 * len(totalled)


def test_every_language_has_all_kinds_of_phrases() -> None:
    languages = words()["languages"]

    assert {frozenset(phrases) for phrases in languages.values()} == {frozenset(languages["en"])}
    assert {code for country in words()["countries"] for code in country["languages"]} <= set(languages)
