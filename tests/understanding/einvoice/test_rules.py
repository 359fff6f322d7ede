from collections.abc import Callable

import pytest

from docmill.understanding.einvoice.reading import einvoice

Sample = Callable[..., bytes]
Changes = list[tuple[str, str]]

EXEMPT = [
    (">S<", ">E<"),
    (">19<", ">0<"),
    (">17.10<", ">0.00<"),
    (">107.10<", ">90.00<"),
    (">7.10<", ">-10.00<"),
]
"""No VAT is charged, and it does not say why."""
WITHIN_EUROPE = [(old, new.replace("E", "K") if "S" in old else new) for old, new in EXEMPT]

UNDATED = [(">20260227<", "><"), (">20260201<", "><"), (">20260228<", "><")]


def _failed(content: bytes) -> list[tuple[str, tuple[str, ...]]]:
    return [(failure.check, failure.fields) for failure in einvoice(content).failures]


@pytest.mark.parametrize(
    ("changes", "check", "fields"),
    [
        ([("<ram:ID>urn:cen.eu:en16931:2017</ram:ID>", "")], "profile", ()),
        ([("urn:cen.eu:en16931:2017", "urn:order-x.eu:1p0:basic")], "profile", ()),
        ([("2017", "2017:compliant:factur-x.eu:1p0:basic")], "profile", ()),
        ([("<ram:ID>R-2026-17</ram:ID>", "")], "BR-02", ("number",)),
        ([("20260301", "20261301")], "xml_value", ("issue_date",)),
        ([(">90.00</ram:Basis", ">90,00</ram:Basis")], "xml_value", ()),
        ([("<ram:TypeCode>380</ram:TypeCode>", "")], "BR-04", ()),
        ([("<ram:Name>Beispiel Holz AG</ram:Name>", "")], "BR-06", ("seller.name",)),
        ([("<ram:Name>Muster Bau GmbH</ram:Name>", "")], "BR-07", ("buyer.name",)),
        ([("<ram:GrandTotalAmount>107.10</ram:GrandTotalAmount>", "")], "BR-14", ("gross_total",)),
        ([("<ram:LineID>1</ram:LineID>", "")], "BR-21", ("lines[0].position",)),
        ([("<ram:Name>Oak planks</ram:Name>", "")], "BR-25", ("lines[0].description",)),
        ([(' unitCode="C62"', "")], "BR-23", ("lines[0].unit",)),
        ([("<ram:CategoryCode>S</ram:CategoryCode>", "")], "BR-CO-04", ("lines[0]",)),
        ([("<ram:CategoryCode>S</ram:CategoryCode>", "")], "BR-47", ("tax_total",)),
        ([(">380<", ">220<")], "BR-CL-01", ()),
        ([(">EUR<", ">EURO<")], "BR-CL-04", ("currency",)),
        ([(">DE<", ">Germany<")], "BR-CL-14", ("seller.address",)),
        ([(">58<", ">5 8<")], "BR-CL-16", ("payment.method",)),
        ([("C62", "piece")], "BR-CL-23", ("lines[0].unit",)),
        ([(">S<", ">X<")], "BR-CL-18", ("lines[0]",)),
        ([(">S<", ">X<")], "BR-CL-17", ("tax_total",)),
        ([(">DE136695976<", ">136695976<")], "BR-CO-09", ("seller.vat_id",)),
        ([("<ram:ID>S-1</ram:ID>", ""), (">DE136695976<", "><")], "BR-CO-26", ("seller.vat_id",)),
        ([(">DE136695976<", "><")], "BR-S-02", ("seller.vat_id",)),
        ([(">DE89370400440532013000<", "><")], "BR-61", ("payment.iban",)),
        ([(">30 days net<", "><"), (">20260331<", "><")], "BR-CO-25", ("due_date", "payment.terms")),
        ([("20260228", "20260128")], "BR-29", ("period_start", "period_end")),
        ([(">12.50<", ">-12.50<")], "BR-27", ("lines[0].unit_price",)),
        ([(">10.00</ram:AllowanceTotal", ">11.00</ram:AllowanceTotal")], "BR-CO-11", ("net_total",)),
        ([(">90.00</ram:TaxBasis", ">91.00</ram:TaxBasis")], "BR-CO-13", ("net_total",)),
        ([(">17.10</ram:TaxTotal", ">18.10</ram:TaxTotal")], "BR-CO-14", ("tax_total",)),
        ([(">107.10<", ">1071.00<")], "BR-CO-15", ("net_total", "tax_total", "gross_total")),
        ([(">7.10<", ">7.00<")], "BR-CO-16", ("gross_total", "amount_due")),
        ([(">17.10<", ">19.10<"), (">107.10<", ">109.10<")], "BR-CO-17", ("tax_total",)),
        ([(">90.00</ram:Basis", ">91.50</ram:Basis")], "BR-S-08", ("net_total", "tax_total")),
        ([(">7.10<", ">7.101<")], "BR-DEC", ()),
        (EXEMPT, "BR-E-10", ("tax_total",)),
        (WITHIN_EUROPE, "BR-IC-02", ("buyer.vat_id",)),
        (WITHIN_EUROPE, "BR-IC-12", ()),
        ([*WITHIN_EUROPE, *UNDATED], "BR-IC-11", ("delivery_date",)),
    ],
)
def test_a_broken_rule_is_named(
    sample: Sample, changes: Changes, check: str, fields: tuple[str, ...]
) -> None:
    assert (check, fields) in _failed(sample("cii", *changes))


_ITEM = "<cbc:Name>Oak planks</cbc:Name>\n   <cac:ClassifiedTaxCategory>\n    <cbc:ID>"
_CHARGE = (
    "<cac:AllowanceCharge><cbc:ChargeIndicator>{}</cbc:ChargeIndicator><cbc:Amount>{}</cbc:Amount>"
    "</cac:AllowanceCharge>"
)


@pytest.mark.parametrize("amount", ["1" * 16, "9" * 27 + ".00"])
def test_a_number_too_long_for_an_amount_is_named(sample: Sample, amount: str) -> None:
    changes = [(old, f">{amount}<") for old in (">17.10<", ">90.00<", ">19<", ">107.10<")]

    failed = _failed(sample("cii", *changes))

    assert ("xml_value", ("gross_total",)) in failed


def test_the_longest_amount_and_rate_are_compared(sample: Sample) -> None:
    changes = [(old, f">{'9' * 15}.99<") for old in (">17.10<", ">90.00<", ">19<")]

    assert ("BR-CO-17", ("tax_total",)) in _failed(sample("cii", *changes))


def test_a_rule_is_told_in_a_persons_words(sample: Sample) -> None:
    (failure,) = einvoice(sample("cii", (">7.10<", ">7.00<"))).failures

    assert failure.message == (
        "Of the total 107.10, 7.00 being prepaid and 0 rounding, 100.10 is due, "
        "but the XML says 100.00 (BT-115)."
    )


def test_lines_that_do_not_make_their_sum_are_named(sample: Sample) -> None:
    checks = [check for check, _ in _failed(sample("ubl", (">100.00</cbc:LineExt", ">99.00</cbc:LineExt")))]

    assert checks == ["BR-CO-13", "BR-S-08"]


def test_a_rate_in_the_lines_that_the_breakdown_lacks_is_named(sample: Sample) -> None:
    line = _ITEM + "S</cbc:ID>\n    <cbc:Percent>"
    failed = _failed(sample("ubl", (line + "19", line + "7")))

    assert ("BR-S-01", ("tax_total",)) in failed


def test_an_untaxed_line_with_a_rate_is_named(sample: Sample) -> None:

    failed = _failed(sample("ubl", (_ITEM + "S", _ITEM + "Z")))

    assert ("BR-Z-05", ("lines[0].tax_rate",)) in failed


def test_vat_that_is_charged_where_none_may_be_is_named(sample: Sample) -> None:
    assert ("BR-Z-09", ("tax_total",)) in _failed(sample("cii", (">S<", ">Z<")))


def test_an_invoice_without_a_breakdown_is_named(sample: Sample) -> None:
    assert ("BR-CO-18", ("tax_total",)) in _failed(sample("cii", ("ram:ApplicableTradeTax>", "ram:Other>")))


@pytest.mark.parametrize(
    ("profile", "rules"),
    [
        ("urn:cen.eu:en16931:2017", []),
        (
            "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0",
            ["PEPPOL-EN16931-R120"],
        ),
        ("urn:cen.eu:en16931:2017#compliant#urn:xeinkauf.de:kosit:xrechnung_3.0", ["PEPPOL-EN16931-R120"]),
    ],
)
def test_whether_price_and_quantity_make_the_amount_is_the_profiles_matter(
    sample: Sample, profile: str, rules: list[str]
) -> None:
    content = sample("ubl", (">12.50<", ">12.60<"), ("urn:cen.eu:en16931:2017", profile))

    assert [check for check, _ in _failed(content)] == rules


def test_a_line_is_worth_its_price_per_base_quantity_with_its_charges(sample: Sample) -> None:
    price = '<cbc:PriceAmount currencyID="EUR">12.50</cbc:PriceAmount>'
    content = sample(
        "ubl",
        ("2017", "2017#compliant#urn:xeinkauf.de:kosit:xrechnung_3.0"),
        (price, price.replace("12.50", "1230") + "<cbc:BaseQuantity>100</cbc:BaseQuantity>"),
        ("   <cbc:Name>Oak", "   <cbc:Name>Oak"),
        ("  <cac:Item>", _CHARGE.format("true", "2.00") + _CHARGE.format("false", "0.40") + "<cac:Item>"),
    )

    assert _failed(content) == []


@pytest.mark.parametrize("level", ["minimum", "basicwl"])
def test_a_profile_without_lines_is_asked_for_none(sample: Sample, level: str) -> None:
    content = sample(
        "cii",
        ("urn:cen.eu:en16931:2017", f"urn:factur-x.eu:1p0:{level}"),
        ("ram:IncludedSupplyChainTradeLineItem>", "ram:Left>"),
    )

    assert _failed(content) == []


def test_elements_of_another_standard_are_named(sample: Sample) -> None:
    content = sample("cii", ("<ram:ID>K-77</ram:ID>", "<x:ID xmlns:x='urn:x'>K-77</x:ID>"))

    assert _failed(content) == [("xml_namespace", ())]


def test_extensions_may_hold_anything(sample: Sample) -> None:
    extension = (
        "<e:UBLExtensions xmlns:e='urn:oasis:names:specification:ubl:schema:xsd:CommonExtensionComponents-2'>"
    )
    content = sample(
        "ubl", ("<cbc:CustomizationID>", extension + "<x/></e:UBLExtensions><cbc:CustomizationID>")
    )

    assert _failed(content) == []


def test_of_an_order_its_totals_are_asked(sample: Sample) -> None:
    assert _failed(sample("order-x", ("<ram:TaxBasisTotalAmount>1", "<ram:TaxBasisTotalAmount>2"))) == [
        ("BR-CO-13", ("net_total",))
    ]
    assert ("profile", ()) in _failed(sample("order-x", ("urn:order-x.eu:1p0:comfort", "urn:of:ours")))


_AMOUNT = '<cbc:LineExtensionAmount currencyID="EUR">100.00</cbc:LineExtensionAmount>'
_OF_THE_LINE = f"8</cbc:InvoicedQuantity>\n  {_AMOUNT}"


def test_a_line_that_the_sum_leaves_out_is_named(sample: Sample) -> None:
    failed = _failed(sample("ubl", (_OF_THE_LINE, _OF_THE_LINE.replace("100.00", "101.00"))))

    assert ("BR-CO-10", ("net_total", "lines")) in failed


def test_a_line_without_an_amount_is_named_and_not_added(sample: Sample) -> None:
    profile = "2017#compliant#urn:xeinkauf.de:kosit:xrechnung_3.0"
    failed = _failed(sample("ubl", (_OF_THE_LINE, _OF_THE_LINE.replace("100.00", "")), ("2017", profile)))

    assert ("BR-24", ("lines[0].net_amount",)) in failed
    assert "BR-CO-10" not in [check for check, _ in failed]


def test_a_period_of_a_line_that_ends_before_it_starts_is_named(sample: Sample) -> None:
    period = (
        "<cac:InvoicePeriod><cbc:StartDate>2026-02-02</cbc:StartDate>"
        "<cbc:EndDate>{}</cbc:EndDate></cac:InvoicePeriod>"
    )

    early = sample("ubl", (_OF_THE_LINE, _OF_THE_LINE + period.format("2026-02-01")))
    late = sample("ubl", (_OF_THE_LINE, _OF_THE_LINE + period.format("2026-02-28")))

    assert _failed(early) == [("BR-30", ("lines[0]",))]
    assert _failed(late) == []


def test_the_sum_of_charges_is_that_of_each(sample: Sample) -> None:
    failed = _failed(sample("ubl", ("<cbc:ChargeIndicator>0<", "<cbc:ChargeIndicator>1<")))

    assert {"BR-CO-11", "BR-CO-12"} <= {check for check, _ in failed}


def test_without_a_currency_any_tax_will_do(sample: Sample) -> None:
    invoice = einvoice(sample("zugferd1", ("<ram:InvoiceCurrencyCode>EUR</ram:InvoiceCurrencyCode>", "")))

    assert str(invoice.terms.number("BT-110")) == "9.50"
    assert [failure.check for failure in invoice.failures] == ["BR-05"]


def test_a_total_without_the_sum_of_its_lines_is_not_judged_by_it(sample: Sample) -> None:
    failed = _failed(sample("cii", ("<ram:TaxBasisTotalAmount>90.00</ram:TaxBasisTotalAmount>", "")))

    assert ("BR-13", ("net_total",)) in failed
    assert "BR-CO-13" not in [check for check, _ in failed]


def test_a_rule_that_many_lines_break_is_told_a_few_times(sample: Sample) -> None:
    content = sample("cii")
    start = content.index(b"<ram:IncludedSupplyChainTradeLineItem>")
    end = b"</ram:IncludedSupplyChainTradeLineItem>"
    line = content[start : content.index(end) + len(end)]
    bare = line.replace(b"<ram:Name>Oak planks</ram:Name>", b"")
    assert bare != line
    many = content.replace(line, bare * 1000)

    told = [failure for failure in einvoice(many).failures if failure.check == "BR-25"]

    assert len(told) == 21
    assert told[-1].message == "The same is wrong 980 more times."
