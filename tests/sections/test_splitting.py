from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from docmill.model.document import Document, Page, Words
from docmill.sections.page_marks import PageMark, marks, page_mark
from docmill.sections.serial_numbers import find_serial_numbers, typed_serial_number
from docmill.sections.splitting import sections
from support.codes import read_code

MakeDocument = Callable[..., Document]

BODY = "\n-" * 8
FIRST = f"Halden Freight GmbH\nDock Street 4\nInvoice no. HF-1041\nDate 14.10.2026\nVAT DE136695976{BODY}"
OTHER = f"Berg Tools Ltd\nMill Lane 9\nInvoice no. BT-77\nDate 2026-10-15\nwww.bergtools.example{BODY}"
PLAIN = f"Berg Tools Ltd\nYour receipt\nDate 2026-10-15{BODY}"
MORE = "Item   Price\nOak boards   412.00\nGlue   3.75"


def parts(document: Document) -> list[tuple[int, int]]:
    return [(part.start, part.stop - 1) for part in sections(document)]


def empty(page: Page) -> Page:
    return replace(page, words=Words.none())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Page 2 of 3", PageMark(2, 3)),
        ("Rechnung 4711      Seite 1 von 3", PageMark(1, 3)),
        ("Seite: 2", PageMark(2, None)),
        ("Página 3 de 12", PageMark(3, 12)),
        ("Strona 1 z 2", PageMark(1, 2)),
        ("Страница 2 из 5", PageMark(2, 5)),
        ("第 2 页 共 3 页", PageMark(2, 3)),
        ("Halden Freight    1/3", PageMark(1, 3)),
        ("- 2 / 4 -", PageMark(2, 4)),
        ("Page 4 of 3", None),
        ("12/10", None),
        ("a webpage 3", None),
    ],
)
def test_page_marks_are_understood_in_many_languages(text: str, expected: PageMark | None) -> None:
    assert page_mark([text]) == expected


def test_a_page_of_another_firm_with_another_number_begins_a_document(make_document: MakeDocument) -> None:
    assert parts(make_document(FIRST, OTHER)) == [(1, 1), (2, 2)]


def test_pages_that_go_on_stay_with_their_first_page(make_document: MakeDocument) -> None:
    assert parts(make_document(FIRST, MORE, MORE, OTHER, MORE)) == [(1, 3), (4, 5)]


def test_a_page_with_the_number_of_the_document_before_belongs_to_it(make_document: MakeDocument) -> None:
    assert parts(make_document(FIRST, FIRST)) == [(1, 2)]


def test_two_invoices_of_one_firm_are_parted_by_their_numbers(make_document: MakeDocument) -> None:
    assert parts(make_document(FIRST, FIRST.replace("1041", "1042"))) == [(1, 1), (2, 2)]


def test_two_invoices_for_one_order_are_not_parted_without_more(make_document: MakeDocument) -> None:
    first = FIRST.replace("Date", "Order no. 5006 Date")

    assert parts(make_document(first, first.replace("1041", "1042"))) == [(1, 2)]


def test_numbered_pages_stay_together_whatever_stands_on_them(make_document: MakeDocument) -> None:
    assert parts(make_document(f"Page 1 of 2\n{FIRST}", f"Page 2 of 2\n{OTHER}")) == [(1, 2)]


def test_a_first_page_after_a_last_begins_a_document(make_document: MakeDocument) -> None:
    pages = (f"Page 1 of 2\n{FIRST}", f"Page 2 of 2\n{MORE}", f"Page 1 of 1\n{FIRST.replace('no.', '')}")

    assert parts(make_document(*pages)) == [(1, 2), (3, 3)]


def test_a_second_page_one_that_says_nothing_else_stays(make_document: MakeDocument) -> None:
    assert parts(make_document(f"Page 1 of 1\n{FIRST}", f"Page 1 of 1\n{MORE}")) == [(1, 2)]


def test_an_unnumbered_first_page_after_a_last_begins_a_document(make_document: MakeDocument) -> None:
    assert parts(make_document(f"Page 1 of 1\n{FIRST}", PLAIN)) == [(1, 1), (2, 2)]


def test_an_empty_page_parts_documents_that_look_like_two(make_document: MakeDocument) -> None:
    document = make_document(FIRST, "", PLAIN, PLAIN)
    document = replace(document, pages=[document.pages[0], empty(document.pages[1]), *document.pages[2:]])

    assert parts(document) == [(1, 2), (3, 4)]


def test_empty_backs_part_nothing(make_document: MakeDocument) -> None:
    document = make_document(FIRST, "", PLAIN, "", MORE, "")
    pages = [empty(page) if page.number % 2 == 0 else page for page in document.pages]

    assert parts(replace(document, pages=pages)) == [(1, 6)]


def test_a_separator_sheet_parts_what_it_stands_between(make_document: MakeDocument) -> None:
    document = make_document(FIRST, "DOCMILL-SPLIT", FIRST, "docmill - split\nmail room")

    assert parts(document) == [(1, 1), (3, 3)]
    assert [(part.start, part.stop - 1) for part in sections(document, separator="other")] == [(1, 4)]


def test_a_contract_of_many_pages_stays_whole(make_document: MakeDocument) -> None:
    clauses: Sequence[str] = [f"{number}. The parties agree\nthat orders are binding" for number in range(11)]

    assert parts(make_document(FIRST, *clauses)) == [(1, 12)]


def test_a_file_without_text_is_one_document(make_document: MakeDocument) -> None:
    document = make_document("a", "b")
    document = replace(document, pages=[empty(page) for page in document.pages])

    assert parts(document) == [(1, 2)]


def test_amounts_and_dates_identify_nobody(make_document: MakeDocument) -> None:
    page = make_document(
        "Total 1,234,567.89\n14.10.2026\nsales@berg.example\nIBAN DE02120300000000202051"
    ).pages[0]

    assert marks(page).identities == {"berg.example", "de02120300000000202051"}


def test_a_code_on_a_sheet_parts_and_on_a_letter_begins(make_document: MakeDocument) -> None:
    plain = make_document(MORE, "-", MORE, MORE)
    long = make_document(*[MORE + "\nand much more" * 40] * 2)
    sheet = replace(
        plain,
        pages=[
            replace(page, codes=(read_code("docmill-split"),) * (page.number == 2)) for page in plain.pages
        ],
    )
    sticker = replace(
        long, pages=[long.pages[0], replace(long.pages[1], codes=(read_code("DOCMILL-SPLIT"),))]
    )

    assert parts(plain) == [(1, 4)]
    assert parts(sheet) == [(1, 1), (3, 4)]
    assert parts(long) == [(1, 2)]
    assert parts(sticker) == [(1, 1), (2, 2)]


GERMAN = "Müller Holzbau GmbH\nHauptstr. 5, Berlin\nRechnung\nDatum: 05.03.2024"
ITALIAN = "Rossi Forniture Srl\nVia Roma 12, Milano\nFattura\nData: 12/03/2024"

THANKS = "Wir danken für den Auftrag und die Zahlung mit der Bank"
GRAZIE = "Vi ringraziamo per una gentile fornitura della sedia e del tavolo di legno"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Rechnung Nr. 2024-118", "Fattura n. 77/2024"),
        ("IBAN DE89 3704 0044 0532 0130 00", "IBAN IT60 X054 2811 1010 0000 0123 456"),
        ("USt-IdNr. DE123456789", "P.IVA IT 01234567890"),
        ("www.mueller-holz.de", "info@rossi.it"),
        (THANKS, GRAZIE),
    ],
)
def test_two_bills_on_two_papers_are_two_documents(make_document: MakeDocument, one: str, other: str) -> None:
    assert parts(make_document(f"{GERMAN}\n{one}{BODY}", f"{ITALIAN}\n{other}{BODY}")) == [
        (1, 1),
        (2, 2),
    ]


VERTRAG = (
    f"Mietvertrag\nVertrag über ein Büro\n{{date}}{BODY}\n"
    "zwischen der Halden Immobilien GmbH und der Firma Orbis\n"
    "Die Mieterin zahlt für das Büro und die Garage mit dem Monatsersten 1.200,00 EUR"
)
CONTRACT = (
    f"Lease\nContract for an office\n{{date}}{BODY}\n"
    "between Halden Immobilien GmbH and the company Orbis\n"
    "The tenant pays for the office and the garage on the first of the month 1,200.00 EUR"
)


@pytest.mark.parametrize(
    ("day", "its_day"),
    [
        ("Datum: 05.03.2024", "Date: 05.03.2024"),
        ("Datum: 05.03.2024", "Date: 03/05/2024"),
        ("5. März 2024", "March 5, 2024"),
        ("05.03.2024", "5 March 2024"),
        ("Datum: 05.03.2024", "Date: 2024-04-11"),
    ],
)
def test_a_translation_stays_with_what_it_translates(
    make_document: MakeDocument, day: str, its_day: str
) -> None:
    german, english = VERTRAG.format(date=day), CONTRACT.format(date=its_day)

    assert parts(make_document(german, english)) == [(1, 2)]
    assert parts(make_document(english, german)) == [(1, 2)]


def test_a_translation_stays_whoever_is_named_in_it_if_it_is_of_the_same_day(
    make_document: MakeDocument,
) -> None:
    german = VERTRAG.format(date="5. März 2024")
    english = CONTRACT.format(date="March 5, 2024").replace("Halden Immobilien GmbH", "Landlord")

    assert parts(make_document(german, english.replace("Orbis", "Lessee"))) == [(1, 2)]


def test_a_translation_with_an_address_at_its_head_stays_though_it_sums_up(
    make_document: MakeDocument,
) -> None:
    german = f"Halden Immobilien GmbH\nTel 030 1234567\n{VERTRAG.format(date='5. März 2024')}\nSumme 1.200,00"
    english = f"Seven Hills Office 4412345\n{CONTRACT.format(date='March 5, 2024')}\nTotal 14,400.00"

    assert parts(make_document(german, english)) == [(1, 2)]


def test_a_page_in_another_language_without_a_date_stays(make_document: MakeDocument) -> None:
    undated = GERMAN.replace("Datum: 05.03.2024", "Rechnung Nr. 118")

    assert parts(make_document(f"{undated}\n{THANKS}{BODY}", f"{ITALIAN}\n{GRAZIE}{BODY}")) == [(1, 2)]


def test_a_bare_count_yields_to_another_number_on_another_paper(make_document: MakeDocument) -> None:
    first = f"Page 1\n{FIRST}"

    assert parts(make_document(first, f"Page 2 of 2\n{OTHER}")) == [(1, 1), (2, 2)]
    assert parts(make_document(first, f"Page 2\n{OTHER}")) == [(1, 2)]
    assert parts(make_document(first, f"Page 2 of 2\n{PLAIN}")) == [(1, 2)]
    assert parts(make_document(first, f"Page 2 of 2\n{FIRST.replace('1041', '1042')}")) == [(1, 2)]


def test_without_a_sign_of_another_firm_pages_stay_together(make_document: MakeDocument) -> None:
    assert parts(make_document(GERMAN + BODY, ITALIAN + BODY)) == [(1, 2)]
    account = "IBAN DE89 3704 0044 0532 0130 00"
    assert parts(make_document(f"{GERMAN}\n{account}{BODY}", f"{ITALIAN}\n{account}{BODY}")) == [(1, 2)]


@pytest.mark.parametrize("mark", ["Page 2 of 2", "Page 3 of 5", "Page 1 of 3"])
def test_a_page_mark_that_counts_another_document_does_not_hold_a_foreign_page(
    make_document: MakeDocument, mark: str
) -> None:
    assert parts(make_document(FIRST, f"{mark}\n{OTHER}")) == [(1, 1), (2, 2)]
    assert parts(make_document(f"Page 2 of 4\n{FIRST}", f"{mark}\n{OTHER}")) == [(1, 1), (2, 2)]


def test_a_page_mark_that_counts_from_the_one_before_holds_whatever_stands_between(
    make_document: MakeDocument,
) -> None:
    pages = (f"Page 1 of 4\n{FIRST}", MORE, f"Page 3 of 4\n{OTHER}", f"Page 4\n{OTHER}")

    assert parts(make_document(*pages)) == [(1, 4)]


SLIP = (
    f"KEDAI TEH ULU\nNo. 7, Jalan Lama\nTel 03-7785 1234567\n{BODY}\n14/03/2018 5:57 PM\nTea 2.10\nTotal 2.10"
)
OTHER_SLIP = f"BOOK HAUS\nGST 002008047616\n24 Main Road\n{BODY}\nPaper 19.90\nGRAND TOTAL 19.90\n24-Mar-2018"


def test_receipts_of_two_shops_are_two_documents(make_document: MakeDocument) -> None:
    assert parts(make_document(SLIP, OTHER_SLIP, SLIP)) == [(1, 1), (2, 2), (3, 3)]


@pytest.mark.parametrize(
    "other",
    [
        OTHER_SLIP.replace("24-Mar-2018", "14/03/2018"),
        OTHER_SLIP.replace("24-Mar-2018", ""),
        OTHER_SLIP.replace("19.90", "2.10"),
        OTHER_SLIP.replace("GRAND TOTAL", "Paper"),
        OTHER_SLIP.replace("GST 002008047616", "Books"),
        OTHER_SLIP.replace("GST 002008047616", "03-7785 1234567"),
        OTHER_SLIP.replace("BOOK HAUS", "4012345001235 Banana 1.25"),
        OTHER_SLIP.replace("BOOK HAUS\n", "KEDAI TEH ULU\n"),
    ],
)
def test_a_page_that_is_no_bill_by_itself_stays_with_a_receipt(
    make_document: MakeDocument, other: str
) -> None:
    assert parts(make_document(SLIP, other)) == [(1, 2)]


def test_the_lower_half_of_a_long_receipt_stays_with_the_upper(make_document: MakeDocument) -> None:
    upper, lower = SLIP.split("\n", 5)[:5], SLIP.split("\n", 5)[5]

    assert parts(make_document("\n".join(upper), lower)) == [(1, 2)]


def test_words_that_stand_on_many_papers_make_none_alike(make_document: MakeDocument) -> None:
    first, other = (
        slip.replace("\n", " SDN BHD\nTax Invoice\n", 1).replace("Main", "Jalan")
        for slip in (SLIP, OTHER_SLIP)
    )

    assert parts(make_document(first, other)) == [(1, 1), (2, 2)]


def test_a_patch_sheet_parts_and_its_word_in_print_does_not(make_document: MakeDocument) -> None:
    plain = make_document(MORE, "PATCHT", MORE)
    pages = [plain.pages[0], replace(plain.pages[1], codes=(read_code("PATCHT", "]C0"),)), plain.pages[2]]

    assert parts(plain) == [(1, 3)]
    assert parts(replace(plain, pages=pages)) == [(1, 1), (3, 3)]


@pytest.mark.parametrize("text", ["PATCHTX", "PATCH 1", "https://example.org/PATCHT"])
def test_another_code_on_a_sheet_parts_nothing(make_document: MakeDocument, text: str) -> None:
    plain = make_document(MORE, "-", MORE)
    pages = [plain.pages[0], replace(plain.pages[1], codes=(read_code(text, "]C0"),)), plain.pages[2]]

    assert parts(replace(plain, pages=pages)) == parts(plain)


@pytest.mark.parametrize(
    ("text", "prefix", "expected"),
    [
        ("ASN00123", "ASN", [(1, 1), (2, 2)]),
        ("FILE-7", "FILE-", [(1, 1), (2, 2)]),
        ("ASN00123", "FILE-", [(1, 2)]),
        ("ASN00123", "", [(1, 2)]),
        ("00123", "", [(1, 2)]),
        ("ASN", "ASN", [(1, 2)]),
        ("ASN12345678901", "ASN", [(1, 2)]),
        ("ASN\u0661\u0662", "ASN", [(1, 2)]),
        ("ASN12X", "ASN", [(1, 2)]),
    ],
)
def test_an_archive_serial_number_begins_a_document(
    make_document: MakeDocument, text: str, prefix: str, expected: list[tuple[int, int]]
) -> None:
    plain = make_document(MORE, MORE)
    labelled = replace(plain.pages[1], codes=(read_code(text, "]C0"),))

    found = sections(replace(plain, pages=[plain.pages[0], labelled]), asn_prefix=prefix)

    assert [(part.start, part.stop - 1) for part in found] == expected


@pytest.mark.parametrize(
    ("text", "number", "numbers"),
    [
        ("ASN 12", 12, [12]),
        ("asn:00012", 12, [12]),
        ("ASN#12", 12, [12]),
        ("#12", 12, []),
        ("12", 12, []),
        ("ASN 99999999999", None, []),
        ("rent ASN 7 asn-8", None, [7, 8]),
        ("basn 12", 12, []),
        ("ASN 12b", None, []),
    ],
)
def test_what_people_type_for_a_number_is_read_in_one_way(
    text: str, number: int | None, numbers: list[int]
) -> None:
    assert typed_serial_number(text) == number
    assert [each.number for each in find_serial_numbers(text)] == numbers
