"""Statements written by hand from the descriptions of the formats. All names and accounts are made up."""

OWN_IBAN = "DE12500105170648489890"
OTHER_IBAN = "NL91ABNA0417164300"

CAMT_ENTRY = """
<Ntry><Amt Ccy="EUR">{amount}</Amt><CdtDbtInd>{side}</CdtDbtInd>{more}<Sts>{status}</Sts>
<BookgDt><Dt>2026-11-04</Dt></BookgDt><ValDt><Dt>2026-11-05</Dt></ValDt>{details}
<AddtlNtryInf>SEPA</AddtlNtryInf></Ntry>"""
CREDIT_DETAILS = """
<NtryDtls><TxDtls><Refs><EndToEndId>{reference}</EndToEndId></Refs>
<RltdPties><Dbtr>{name}</Dbtr><DbtrAcct><Id><IBAN>NL91ABNA0417164300</IBAN></Id></DbtrAcct>
<Cdtr><Nm>We Ltd</Nm></Cdtr><CdtrAcct><Id><IBAN>DE12500105170648489890</IBAN></Id></CdtrAcct></RltdPties>
<RmtInf>{remittance}</RmtInf></TxDtls></NtryDtls>"""


def camt(entries: str, *, version: str = "053.001.02", opening: str = "100.00", closing: str = "") -> bytes:
    """A message with one statement, without balances if `closing` is empty."""
    balances = "".join(
        f"<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp><Amt Ccy='EUR'>{amount.lstrip('-')}</Amt>"
        f"<CdtDbtInd>{'DBIT' if amount.startswith('-') else 'CRDT'}</CdtDbtInd>"
        f"<Dt><Dt>2026-11-0{day}</Dt></Dt></Bal>"
        for code, amount, day in (("OPBD", opening, 3), ("CLBD", closing, 5))
        if closing
    )
    outer, inner = (
        ("BkToCstmrStmt", "Stmt") if version.startswith("053") else ("BkToCstmrDbtCdtNtfctn", "Ntfctn")
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.{version}">'
        f"<{outer}><GrpHdr><MsgId>1</MsgId></GrpHdr><{inner}><Id>1</Id><Acct><Id><IBAN>{OWN_IBAN}</IBAN></Id>"
        f"<Ccy>EUR</Ccy></Acct>{balances}{entries}</{inner}></{outer}></Document>"
    ).encode()


MT940 = """\
{1:F01BANKDEFFXXXX0000000000}{2:O9400000000000BANKDEFFXXXX00000000000000000000N}{4:
:20:STARTUMSE
:25:50010517/0648489890
:28C:00011/001
:60F:C251230EUR1000,00
:61:2512310102DR45,20N026NONREF//B-1
Card fee
:86:105?00BASISLASTSCHRIFT?10931?20EREF+RG-2025-4711 im Dezemb?21erMREF+M-1CRED+DE98ZZZ0999999?22
9999SVWZ+Strom Dezember
?30ABNANL2A?31NL91ABNA0417164300?32Stadtwerke Musterstadt am R?33hein
:61:2601020102RC10,00NTRFNONREF
:86:Returned: name
unknown
:61:260102CR1250,NTRFINV-4711//B-3
:62F:C260102EUR2194,80
:86:Information for the owner
-}
"""

DUTCH_DETAILS = (
    ":86:/TRTP/SEPA OVERBOEKING/IBAN/NL91ABNA0417164300/BIC/ABNANL2A/NAME/Groot BV\n"
    "/REMI/Factuur 4711/EREF/NOTPROVIDED\n"
)

OFX_1 = """\
OFXHEADER:100
DATA:OFXSGML
VERSION:102
SECURITY:NONE
ENCODING:USASCII
CHARSET:1252
COMPRESSION:NONE
OLDFILEUID:NONE
NEWFILEUID:NONE

<OFX><SIGNONMSGSRSV1><SONRS><STATUS><CODE>0<SEVERITY>INFO</STATUS><DTSERVER>20261105</SONRS></SIGNONMSGSRSV1>
<BANKMSGSRSV1><STMTTRNRS><TRNUID>1<STMTRS><CURDEF>USD
<BANKACCTFROM><BANKID>111000025<ACCTID>123456789<ACCTTYPE>CHECKING</BANKACCTFROM>
<BANKTRANLIST><DTSTART>20261101120000[-5:EST]<DTEND>20261105
<STMTTRN><TRNTYPE>DEBIT<DTPOSTED>20261102120000.000[-5:EST]<TRNAMT>-45.20<FITID>1<CHECKNUM>1001
<NAME>City Power &amp; Light<MEMO>
</STMTTRN>
<STMTTRN><TRNTYPE>CREDIT<DTPOSTED>20261104<TRNAMT>+1250,00<FITID>2<NAME>M\u00fcller<MEMO>INV 4711</STMTTRN>
</BANKTRANLIST><LEDGERBAL><BALAMT>2204.80<DTASOF>20261105</LEDGERBAL></STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>
"""

OFX_2 = """\
<?xml version="1.0" encoding="UTF-8"?>
<?OFX OFXHEADER="200" VERSION="211" SECURITY="NONE" OLDFILEUID="NONE" NEWFILEUID="NONE"?>
<OFX><CREDITCARDMSGSRSV1>
<CCSTMTTRNRS><CCSTMTRS><CURDEF>EUR</CURDEF><CCACCTFROM><ACCTID>4111</ACCTID></CCACCTFROM>
<BANKTRANLIST><STMTTRN><TRNTYPE>DEBIT</TRNTYPE><DTPOSTED>20261102</DTPOSTED><TRNAMT>-9.99</TRNAMT><FITID>1</FITID>
<PAYEE><NAME>Shop</NAME><CITY>Bonn</CITY></PAYEE><MEMO><![CDATA[a < b]]></MEMO></STMTTRN></BANKTRANLIST>
</CCSTMTRS></CCSTMTTRNRS>
<CCSTMTTRNRS><CCSTMTRS><CURDEF>USD</CURDEF><CCACCTFROM><ACCTID>4222</ACCTID></CCACCTFROM>
<BANKTRANLIST><STMTTRN><DTPOSTED>20261103</DTPOSTED><TRNAMT>5</TRNAMT><FITID>1</FITID><NAME>Refund</NAME>
</STMTTRN></BANKTRANLIST></CCSTMTRS></CCSTMTTRNRS></CREDITCARDMSGSRSV1></OFX>
"""
