from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from docmill.model.document import Document
from docmill.model.result import Extraction, Schema
from docmill.schemas.user_schemas import schema_of
from docmill.understanding.user_schemas.extractor import extract_user_schema

Typeset = Callable[..., Document]

ORDER = """
WXYZ Television             Contract #      1234567
12 Main Street              Contract Dates  03/02/20 - 03/29/20
Springfield, IL 62701       Print Date      02/27/20

Advertiser    Friends of Jane Doe (11223)
Agency        Media House Inc
Buyer         John Smith

Line   Start      End        Spots   Rate      Amount
1      03/02/20   03/15/20   4       $100.00   $400.00
2      03/16/20   03/29/20   6       $150.00   $900.00

Totals                       10                $1,300.00
Commission                                     $195.00
Net                                            $1,105.00
"""


def schema(critical: tuple[str, ...] = (), **members: Any) -> Schema:  # noqa: ANN401 - JSON Schema
    properties: dict[str, Any] = {}
    for name, member in members.items():
        kind, _, description = member.partition(":")
        form = {"date": {"format": "date"}, "decimal": {"type": "number"}}.get(kind, {"type": kind})
        properties[name] = {"type": "string", **form, "description": description}
    return schema_of({"title": "order", "type": "object", "properties": properties}, critical=critical)


def read(document: Document, wanted: Schema) -> tuple[dict[str, Any], Extraction]:
    extraction = extract_user_schema(document, wanted)
    return extraction.data.model_dump(), extraction


def test_fields_are_found_by_their_names_and_descriptions(typeset: Typeset) -> None:
    wanted = schema(
        contract_num="string:number of the contract",
        advertiser="string:name of the advertiser",
        flight_from="date:first date of the flight",
        flight_to="date:last date of the flight",
        gross_amount="decimal:total gross amount",
        net_amount="decimal",
        spot_count="integer:number of spots",
    )

    data, extraction = read(typeset(ORDER), wanted)

    assert data["contract_num"] == "1234567"
    assert data["advertiser"].startswith("Friends of Jane Doe")
    assert (data["flight_from"], data["flight_to"]) == (date(2020, 3, 2), date(2020, 3, 29))
    assert data["gross_amount"] == Decimal("1300.00")
    assert data["net_amount"] == Decimal("1105.00")
    assert set(extraction.evidence) >= {path for path, value in data.items() if value is not None}


def test_evidence_says_where_a_value_stands_and_how_it_was_read(typeset: Typeset) -> None:
    _, extraction = read(typeset(ORDER), schema(contract_number="string", print_date="date"))

    number, day = extraction.evidence["contract_number"], extraction.evidence["print_date"]
    assert (number.page, number.text, number.match) == (1, "1234567", "exact")
    assert (day.text, day.match) == ("02/27/20", "normalised")
    assert 0 < day.confidence <= 1


def test_a_label_of_another_field_is_no_value(typeset: Typeset) -> None:
    page = """
    Plate        Mileage    Tested
    1-XYZ-228    61009      2026-10-02

    Landlord                Tenant
    Harrow and Pike         Samuel Quill
    """
    wanted = schema(
        plate="string:registration plate of the vehicle",
        mileage="integer:mileage in km",
        landlord="string:name of the landlord",
        tenant="string:name of the tenant",
    )

    data, extraction = read(typeset(page), wanted)

    offers = [str(offer.value) for some in extraction.suggestions.values() for offer in some]
    for label in ("Plate", "Mileage", "Landlord", "Tenant"):
        assert not any(label in str(value) for value in (*data.values(), *offers))


def test_a_name_stands_beside_its_label_where_all_labels_do(typeset: Typeset) -> None:
    page = """
    Row                 F
    Seat                22
    Booking fee         2.00
    Price               34.50
    Date                2026-11-14
    Officer in charge   Ada Quill
    File                7,120
    """
    wanted = schema(seat="string:seat", officer="string:officer in charge")

    data, _ = read(typeset(page), wanted)

    assert data == {"seat": "22", "officer": "Ada Quill"}


def test_the_end_of_a_label_and_a_day_are_no_names(typeset: Typeset) -> None:
    page = """
    Member number   6 March 2025
    Branch          6 March 2025
    """
    wanted = schema(member="string:name of the member", branch="string:branch of the club")

    data, extraction = read(typeset(page), wanted)

    assert data == {"member": None, "branch": None}
    assert not extraction.suggestions


def test_a_dash_between_a_label_and_a_number_is_no_sign(typeset: Typeset) -> None:
    wanted = schema(mileage="integer:mileage in km", balance="decimal:balance of the account")

    data, _ = read(typeset("Mileage - 29,722\n\nBalance -40.50 EUR"), wanted)

    assert data == {"mileage": 29722, "balance": Decimal("-40.50")}


def test_groups_of_digits_are_one_code(typeset: Typeset) -> None:
    wanted = schema(commodity_code="string:commodity code", contract_number="string:number of the contract")

    data, _ = read(typeset("Commodity code: 8467 21 99\n\nContract number   4 471 882 B"), wanted)

    assert data == {"commodity_code": "8467 21 99", "contract_number": "4 471 882 B"}


def test_a_name_ends_before_a_day(typeset: Typeset) -> None:
    wanted = schema(approved_by="string:name of the person who approved")

    data, _ = read(typeset("Approved by: Lena Ferrand, 6 July 2026"), wanted)

    assert data["approved_by"] == "Lena Ferrand"


def test_a_name_ends_before_a_telephone_number(typeset: Typeset) -> None:
    page = "Claim report\n\nRepairer: Severn Bodyworks, tel 01527 880 114\nExcess: 350.00\n"

    data, _ = read(typeset(page), schema(repairer="string", excess="decimal"))

    assert data["repairer"] == "Severn Bodyworks"


def test_a_rate_of_interest_is_a_percentage(typeset: Typeset) -> None:
    wanted = schema(interest_rate="decimal:interest rate in percent")

    data, _ = read(typeset("Loan amount  12,000.00\n\nInterest rate (fixed)  6.9 %"), wanted)

    assert data["interest_rate"] == Decimal("6.9")


def test_a_first_day_and_a_last_one_of_other_things_are_no_period(typeset: Typeset) -> None:
    page = """
    First payment    2026-06-01
    Offer valid until    2026-04-30
    """
    wanted = schema(
        first_payment="date:date of the first payment",
        valid_until="date:last day on which the offer is valid",
    )

    data, _ = read(typeset(page), wanted)

    assert data == {"first_payment": date(2026, 6, 1), "valid_until": date(2026, 4, 30)}


def test_capital_letters_behind_a_label_belong_to_the_code(typeset: Typeset) -> None:
    page = """
    Container no.: MSKU 781234-5
    Seal no. 00981
    """
    wanted = schema(
        container_number="string:number of the container", seal_number="string:number of the seal"
    )

    data, _ = read(typeset(page), wanted)

    assert data == {"container_number": "MSKU 781234-5", "seal_number": "00981"}


def test_small_words_name_no_field(typeset: Typeset) -> None:
    wanted = schema(ausgestellt_am="date:Datum der Ausstellung")

    data, _ = read(typeset("Mia Ofenloch, geboren am 12.04.2012"), wanted)

    assert data["ausgestellt_am"] is None


def test_the_dots_that_lead_to_a_name_are_no_part_of_it(typeset: Typeset) -> None:
    wanted = schema(policyholder="string:name of the policyholder")

    data, _ = read(typeset("Policyholder .......... Rosalind Achebe"), wanted)

    assert data["policyholder"] == "Rosalind Achebe"


def test_what_the_page_does_not_say_is_null(typeset: Typeset) -> None:
    data, extraction = read(typeset(ORDER), schema(date_of_birth="date", iban="string", parking="boolean"))

    assert data == {"date_of_birth": None, "iban": None, "parking": None}
    assert not extraction.evidence


def test_a_document_without_pages_gives_nulls() -> None:
    empty = Document("0" * 64, "application/zip", [])

    data, _ = read(empty, schema(number="string"))

    assert data == {"number": None}


LETTER = """
Mietvertrag
Mieter:          Erika Beispiel
Beginn:          01.06.2026
Ende:            31.05.2028
Uhrzeit:         14:30
Haustiere:       ja
Art:             Wohnung
E-Mail:          erika@example.org
IBAN:            DE89 3704 0044 0532 0130 00
Miete:           1.250,50 EUR
"""


def test_labels_of_the_users_own_lead_to_values(typeset: Typeset) -> None:
    members = {
        "rent": {"type": "number"},
        "tenant": {"type": "string", "description": "name of the tenant"},
        "valid_from": {"type": "string", "format": "date"},
        "valid_until": {"type": "string", "format": "date"},
        "handover": {"type": "string", "format": "time"},
        "pets": {"type": "boolean"},
        "kind": {"enum": ["Haus", "Wohnung"]},
        "email": {"type": "string"},
        "iban": {"type": "string"},
        "rent_currency": {"type": "string"},
    }
    wanted = schema_of(
        {"title": "lease", "type": "object", "properties": members},
        labels={
            "rent": ("Miete",),
            "tenant": ("Mieter",),
            "valid_from": ("Beginn",),
            "valid_until": ("Ende",),
            "handover": ("Uhrzeit",),
            "pets": ("Haustiere",),
            "kind": ("Art",),
        },
    )

    data, _ = read(typeset(LETTER), wanted)

    assert data["rent"] == Decimal("1250.50")
    assert data["tenant"] == "Erika Beispiel"
    assert (data["valid_from"], data["valid_until"]) == (date(2026, 6, 1), date(2028, 5, 31))
    assert data["handover"].isoformat() == "14:30:00"
    assert data["pets"] is True
    assert data["kind"] == "Wohnung"
    assert data["email"] == "erika@example.org"
    assert data["iban"] == "DE89370400440532013000"
    assert data["rent_currency"] == "EUR"


def test_nested_values_are_found_by_their_owners(typeset: Typeset) -> None:
    seller = {"type": "object", "properties": {"name": {"type": "string"}}}
    wanted = schema_of({"title": "bill", "type": "object", "properties": {"seller": seller}})

    data, extraction = read(typeset("Seller:  Acme Trading Ltd\n\nBuyer:  Jane Doe"), wanted)

    assert data == {"seller": {"name": "Acme Trading Ltd"}}
    assert extraction.evidence["seller.name"].text == "Acme Trading Ltd"


@pytest.mark.parametrize(
    ("text", "wanted"), [("1.234,50 EUR", Decimal("1234.50")), ("1,234.50 EUR", Decimal("1234.50"))]
)
def test_the_decimal_mark_is_the_documents_own(typeset: Typeset, text: str, wanted: Decimal) -> None:
    data, _ = read(typeset(f"Total amount:  {text}"), schema(total_amount="decimal"))

    assert data["total_amount"] == wanted


LABORATORY = """
Northfield Pathology                    NHS No: 943 476 5919
Patient: Daniel Okafor                  Date of birth: 22/01/1968
Collected: 03/11/2026 08:40             Reported: 04/11/2026 09:02
"""


def test_a_day_of_birth_is_read_and_tells_the_order_of_day_and_month(typeset: Typeset) -> None:
    wanted = schema(birth_date="date:date of birth", reported_on="date:date of the report")

    data, _ = read(typeset(LABORATORY), wanted)

    assert data == {"birth_date": date(1968, 1, 22), "reported_on": date(2026, 11, 4)}


POLICY = """
Policy number   RC 44 019928         Tax code   FSSLNE81D52D969K
Net premium     412.18               Tax        72.13
CHI number 300751 4422, 14 Thurso Street
"""


def test_a_tax_code_is_no_amount_and_groups_of_digits_are_one_code(typeset: Typeset) -> None:
    data, _ = read(typeset(POLICY), schema(tax_code="string", chi_number="string"))

    assert data == {"tax_code": "FSSLNE81D52D969K", "chi_number": "300751 4422"}


TIMESHEET = """
Timesheet week 41

Date         Hours
05/10/2026   8.00
06/10/2026   8.50
08/10/2026   6.00

Approved by the client: M. de Wit
"""


def test_a_row_of_a_list_is_not_believed_to_be_another_field(typeset: Typeset) -> None:
    row = {
        "type": "object",
        "properties": {"date": {"type": "string", "format": "date"}, "hours": {"type": "number"}},
    }
    wanted = schema_of(
        {
            "title": "timesheet",
            "type": "object",
            "properties": {
                "approval_date": {"type": "string", "format": "date", "description": "date of approval"},
                "days": {"type": "array", "items": row},
            },
        }
    )

    data, extraction = read(typeset(TIMESHEET), wanted)

    assert [day["hours"] for day in data["days"]] == [Decimal("8.00"), Decimal("8.50"), Decimal("6.00")]
    proof = extraction.evidence.get("approval_date")
    assert proof is None or proof.confidence <= 0.5


def test_the_whole_of_a_code_is_offered(typeset: Typeset) -> None:
    _, extraction = read(typeset("Registration number   KX19 ZTR\n"), schema(registration_number="string"))

    values = [extraction.data.model_dump()["registration_number"]]
    values += [suggestion.value for suggestion in extraction.suggestions.get("registration_number", ())]
    assert "KX19 ZTR" in values


def test_a_value_with_a_near_rival_or_the_look_of_no_name_is_not_believed(typeset: Typeset) -> None:
    page = "Agency   Issue Ltd\nAgency   Halyard Media Group\nApproved by   ☐ Yes ☒ No, resubmit\n"

    _, extraction = read(typeset(page), schema(agency="string:name of the agency", approved_by="string:name"))

    beliefs = {path: proof.confidence for path, proof in extraction.evidence.items()}
    assert beliefs.get("agency", 0) < 0.8
    assert beliefs.get("approved_by", 0) < 0.8


def test_a_price_is_no_count_and_an_address_no_part_of_a_name(typeset: Typeset) -> None:
    page = "Nights   € 20.00\nLandlord   Ingrid Solberg, Lindenweg 2, 04109 Leipzig\n"

    data, _ = read(typeset(page), schema(nights="integer", landlord="string"))

    assert data == {"nights": None, "landlord": "Ingrid Solberg"}


def test_a_bound_in_a_list_is_no_number(typeset: Typeset) -> None:
    row = {
        "type": "object",
        "properties": {"description": {"type": "string"}, "quantity": {"type": "number"}},
    }
    wanted = schema_of(
        {
            "title": "report",
            "type": "object",
            "properties": {"results": {"type": "array", "items": row}},
        }
    )

    data, _ = read(
        typeset("Description   Quantity\nSodium        140.5\nFerritin      <8.0\nIron          12.1\n"),
        wanted,
    )

    assert [one["quantity"] for one in data["results"]] == [Decimal("140.5"), None, Decimal("12.1")]
