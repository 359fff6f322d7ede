"""XML that is meant as an e-invoice, but is none by its root."""

from pathlib import Path

import pytest

from docmill.errors import CorruptError
from docmill.ports import Original
from docmill.reading.child import tasks
from docmill.reading.convert import LocalConverter
from docmill.reading.files.options import ReadingOptions
from docmill.reading.pdf import attachments
from docmill.workers.pool import Pool

UBL = "urn:oasis:names:specification:ubl:schema:xsd:"
COMMON = f'xmlns:cac="{UBL}CommonAggregateComponents-2" xmlns:cbc="{UBL}CommonBasicComponents-2"'
CII = "urn:un:unece:uncefact:data:standard:"
RAM = f'xmlns:ram="{CII}ReusableAggregateBusinessInformationEntity:100"'
PARTIES = "<AccountingSupplierParty/><AccountingCustomerParty/><LegalMonetaryTotal/>"
SOAP = "http://schemas.xmlsoap.org/soap/envelope/"
PEPPOL = "http://www.unece.org/cefact/namespaces/StandardBusinessDocumentHeader"

MISNAMED = {
    "UBL of another name": f'<Faktura xmlns="{UBL}Invoice-2" {COMMON}><cbc:ID>1</cbc:ID></Faktura>',
    "UBL misspelt": f'<Invoise xmlns="{UBL}Invoice-2"><ID xmlns="{UBL}CommonBasicComponents-2"/></Invoise>',
    "UBL without its namespace": f"<Invoice {COMMON}><cbc:ID>1</cbc:ID></Invoice>",
    "UBL of another version": f'<Invoice xmlns="{UBL}Invoice-3"/>',
    "UBL without any namespace": f"<Invoice>{PARTIES}</Invoice>",
    "UBL within another envelope": (
        f'<s:Envelope xmlns:s="{SOAP}"><s:Body><Invoice xmlns="{UBL}Invoice-2" {COMMON}><cbc:ID>1</cbc:ID>'
        "</Invoice></s:Body></s:Envelope>"
    ),
    "UBL misspelt within Peppol's envelope": (
        f'<s:StandardBusinessDocument xmlns:s="{PEPPOL}"><s:StandardBusinessDocumentHeader/>'
        f'<Rechnung xmlns="{UBL}Invoice-2" {COMMON}><cbc:ID>1</cbc:ID></Rechnung>'
        "</s:StandardBusinessDocument>"
    ),
    "CII of another name": (
        f'<r:Invoice xmlns:r="{CII}CrossIndustryInvoice:100" {RAM}><ram:ID>1</ram:ID></r:Invoice>'
    ),
    "CII of another version": f'<r:CrossIndustryInvoice xmlns:r="{CII}CrossIndustryInvoice:13"/>',
    "CII without a namespace": "<CrossIndustryInvoice/>",
    "CII below a root of one's own": "<data><ExchangedDocument/><SupplyChainTradeTransaction/></data>",
    "ZUGFeRD 1 misspelt": '<CrossIndustryDokument xmlns="urn:ferd:CrossIndustryDocument:invoice:1p0"/>',
    "Order-X misspelt": '<Order xmlns="urn:un:unece:uncefact:data:SCRDMCCBDACIOMessageStructure:100"/>',
    "CII that is not well-formed": f"<Rechnung {RAM}><ram:ID>1</ram:Name></Rechnung>",
    "CII that breaks off": f'<r:Invoice xmlns:r="{CII}CrossIndustryInvoice:100" {RAM}><ram:ID>1</ram:ID>',
}
OTHERS = {
    "a note": "<?xml version='1.0'?><note>Hello</note>",
    "an invoice of one's own": "<?xml version='1.0'?><Invoice><Number>1</Number></Invoice>",
    "a UBL quotation": f'<Quotation xmlns="{UBL}Quotation-2" {COMMON}><cbc:ID>1</cbc:ID></Quotation>',
    "another message of UN/CEFACT": (
        f'<CrossIndustryQuotation xmlns="{CII}CrossIndustryQuotation:1" {RAM}><ram:ID/>'
        "</CrossIndustryQuotation>"
    ),
    "a quotation in Peppol's envelope": (
        f'<s:StandardBusinessDocument xmlns:s="{PEPPOL}"><s:StandardBusinessDocumentHeader/>'
        f'<Quotation xmlns="{UBL}Quotation-2" {COMMON}><cbc:ID>1</cbc:ID></Quotation>'
        "</s:StandardBusinessDocument>"
    ),
    "a stylesheet": (
        f'<xsl:stylesheet xmlns:xsl="http://www.w3.org/1999/XSL/Transform" {COMMON}><cbc:ID/>'
        "</xsl:stylesheet>"
    ),
    "namespaces that nothing uses": f"<note {COMMON}>Hello</note>",
    "FatturaPA": (
        '<p:FatturaElettronica xmlns:p="http://ivaservizi.agenziaentrate.gov.it/docs/xsd/fatture/v1.2"/>'
    ),
    "no XML": "<?xml version='1.0'?>Dear all",
}


@pytest.mark.parametrize("content", MISNAMED.values(), ids=MISNAMED)
def test_an_invoice_whose_root_is_misnamed_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.xml"
    path.write_text(content)

    with pytest.raises(CorruptError, match="ask whoever sent it"):
        attachments.in_file(path)


@pytest.mark.parametrize("content", OTHERS.values(), ids=OTHERS)
def test_other_xml_is_none(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.xml"
    path.write_text(content)

    assert attachments.in_file(path) == ()


def test_a_misnamed_attachment_of_a_known_name_is_told_by_who_reads_it() -> None:
    assert attachments.root(MISNAMED["UBL misspelt"].encode()) == f"{{{UBL}Invoice-2}}Invoise"


async def test_the_refusal_reaches_who_converts_with_the_type_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "rechnung.xml"
    path.write_text(f"<?xml version='1.0'?>{MISNAMED['UBL of another name']}")

    async with Pool(1) as pool:
        with pytest.raises(CorruptError, match="outermost element") as refused:
            await LocalConverter(pool).convert(Original(path, path.name, "0" * 64))

    assert refused.value.code == "corrupt"
    assert refused.value.media_type == "application/xml"


def test_a_quotation_goes_on_being_read_as_text(tmp_path: Path) -> None:
    path = tmp_path / "quotation.xml"
    path.write_text(f"<?xml version='1.0'?>{OTHERS['a UBL quotation']}")

    opened = tasks.open_original(path, ReadingOptions())

    assert (opened.media_type, opened.embedded) == ("application/xml", ())
