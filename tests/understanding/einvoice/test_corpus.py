from pathlib import Path

import pytest

from docmill.reading.pdf import attachments, pdf_file
from docmill.understanding.einvoice.reading import einvoice
from docmill.understanding.einvoice.terms import UnreadableError

DATA = Path(__file__).parents[3].parent / "shared/data"
CORPUS = DATA / "einvoice/zugferd-corpus"
CASES = sorted((DATA / "einvoice/xrechnung").rglob("*_ubl.xml"))
SAID_OTHERWISE = {
    "01.05_minimal_test_ubl.xml": {"tax_total"},  # a VAT of 0 is left out in CII
    "01.21a-INVOICE_ubl.xml": {"seller"},  # another VAT identifier
    "03.06a-INVOICE_ubl.xml": {"seller", "buyer"},  # city and postal code exchanged
}
"""Fields for which the two files of a case do not say the same."""

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the shared data are not here")


@pytest.mark.parametrize("ubl", CASES, ids=lambda path: path.name)
def test_a_case_of_the_xrechnung_suite_is_the_same_object_in_ubl_and_cii(ubl: Path) -> None:
    cii = ubl.with_name(ubl.name.replace("_ubl", "_uncefact"))
    if not cii.exists():
        pytest.skip("the suite has this case in UBL alone")
    one, other = (einvoice(path.read_bytes()).data.model_dump() for path in (ubl, cii))

    assert {field for field in one if one[field] != other[field]} == SAID_OTHERWISE.get(ubl.name, set())


@pytest.mark.parametrize("path", sorted((CORPUS / "ZUGFeRDv1").rglob("*.pdf")), ids=lambda path: path.name)
def test_of_zugferd_1_the_wrong_are_flagged(path: Path) -> None:
    with pdf_file.open_document(path) as document:
        (content, *_) = (one.content for one in attachments.in_pdf(document, path).einvoices)

    failures = einvoice(content).failures

    wrong_in_the_right = path.name == "ZUGFeRD_1p0_EXTENDED_Kostenrechnung.pdf"  # its 91st day of a month
    assert bool(failures) is ("fail" in path.parts or wrong_in_the_right)


def test_no_file_does_more_than_to_be_refused() -> None:
    outcomes: dict[str, int] = {"read": 0, "refused": 0}
    for path in (*DATA.glob("einvoice/**/*.xml"), *DATA.glob("orders/**/*.xml")):
        try:
            einvoice(path.read_bytes())
            outcomes["read"] += 1
        except UnreadableError:
            outcomes["refused"] += 1

    assert outcomes["read"] > outcomes["refused"] > 0
