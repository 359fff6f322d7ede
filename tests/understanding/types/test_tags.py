import pytest

from docmill.model.result import Classification, Evidence, Extraction, Suggestion
from docmill.schemas.types import Invoice, Party
from docmill.understanding.types.tags import choose_tags, one_line, tags_in, without_doubted_parties


@pytest.mark.parametrize(
    ("suggested", "used", "tags"),
    [
        (["office", "Office", "OFFICE "], [], ("office",)),
        (["Café", "cafe"], [], ("Café",)),
        (["Invoice", "invoices"], [], ("Invoice",)),
        (["supplies", "Supply"], [], ("supplies",)),
        (["glass", "glas"], [], ("glass", "glas")),
        (["e-mail", "E Mail"], [], ("e-mail",)),
        (["a", "b", "c", "d", "e", "f"], [], ("a", "b", "c", "d", "e")),
        (["new", "taxes", "rents"], ["Rent", "Tax", "Taxes"], ("Taxes", "Rent", "new")),
        (["paper"], ["Papers", "PAPER"], ("Papers",)),
        (["", " ", "\n", 7, None, ["x"]], [], ()),
        (["two\nlines", "two lines"], [], ("two lines",)),
        (["\U0001f600", "\U0001f600", "\u8acb\u6c42\u66f8"], [], ("\U0001f600", "\u8acb\u6c42\u66f8")),
        (["x" * 60], [], ("x" * 40,)),
    ],
)
def test_a_tag_is_given_once_and_spelt_as_it_is_in_use(
    suggested: list[object], used: list[str], tags: tuple[str, ...]
) -> None:
    assert choose_tags(suggested, used) == tags


def test_only_five_tags_are_given_those_in_use_before_others() -> None:
    assert choose_tags("fghij", ["j", "i"]) == ("i", "j", "f", "g", "h")


def test_a_tag_in_use_is_said_where_all_its_words_stand_together() -> None:
    texts = ["Car insurance for our vans", "Ren\u00e9 & Co."]

    assert tags_in(texts, ["Van", "car insurances", "insurance car", "rene", "art", "-"]) == [
        "Van",
        "car insurances",
        "rene",
    ]


def test_a_line_is_cut_and_has_no_signs_that_cannot_be_printed() -> None:
    assert one_line(" a\x00b\n c ", 9) == "a b c"
    assert one_line("abc def", 4) == "abc"


def test_the_name_of_a_party_that_is_not_believed_is_no_tag() -> None:
    nowhere = Evidence(page=None, box=None, text=None, match="none", confidence=0.4)
    named = Classification(tags=("Kestrel Tools Ltd", "Marlow", "harbour", "2026"))
    perhaps = tuple(Suggestion(value=name, evidence=nowhere) for name in ("KESTREL TOOLS LTD.", "Marlow"))
    invoice = Invoice(buyer=Party(name="Marlow"))
    doubted = Extraction(
        document_type="invoice", data=invoice, evidence={}, suggestions={"seller.name": perhaps}
    )
    refuted = doubted.model_copy(
        update={"suggestions": {}, "refuted": {"seller.name": "Kestrel Tools Ltd", "number": "2026"}}
    )
    others = doubted.model_copy(update={"suggestions": {"subject": perhaps}})

    assert without_doubted_parties(named, doubted).tags == ("Marlow", "harbour", "2026")
    assert without_doubted_parties(named, refuted).tags == ("Marlow", "harbour", "2026")
    assert without_doubted_parties(named, others) is named
