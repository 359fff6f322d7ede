"""What a confirmed link says of two parties, and how far that goes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.matching.records import SELLER, invoice

from docmill.matching import records_of
from docmill.matching.aliases import (
    MOST_PARTIES,
    PartyAlias,
    PartyAliases,
    aliases_between,
    lookup_keys,
    party_of_text,
    with_alias_reasons,
    with_party_of_text,
)
from docmill.matching.decision import decide
from docmill.matching.match_record import MatchRecord, PartyIdentity
from docmill.matching.pairs import score_pair
from docmill.matching.parties import Likeness, identity
from docmill.matching.scoring import shipped_weights
from docmill.matching.wording import reason_text

WEIGHTS = shipped_weights()
AMAZON = {"name": "Amazon EU S.a.r.l."}


def payment(id_: str = "payment", *, amount: str = "-1190.00", **values: Any) -> MatchRecord:  # noqa: ANN401
    data = {
        "iban": "AT611904300234573201",
        "currency": "EUR",
        "transactions": [{"date": "2026-01-20", "amount": amount, **values}],
    }
    (made,) = records_of(id_, "bank_statement", data)
    return made


def card_payment(id_: str = "payment", text: str = "AMZN MKTP DE*2X3Y4Z5 800-279-6620 LU") -> MatchRecord:
    return payment(id_, description=text)


def learned(first: MatchRecord, second: MatchRecord) -> PartyAliases:
    return PartyAliases(aliases_between("invoice_to_payment", first, second))


def test_names_that_are_not_alike_become_aliases_by_a_link() -> None:
    (alias,) = aliases_between(
        "invoice_to_payment", invoice(seller=AMAZON), payment(counterparty="AMZN MKTP")
    )

    assert (alias.first.key, alias.second.key) == ("amazon", "amzn mktp")


@pytest.mark.parametrize(
    "values",
    [
        {"counterparty": "SOMMER GMBH"},
        {"counterparty": "Sommer"},
        {},
    ],
    ids=["same name", "same name, longer", "nothing known"],
)
def test_names_that_are_alike_or_unknown_teach_nothing(values: dict[str, str]) -> None:
    assert not aliases_between("invoice_to_payment", invoice(), payment(**values))


def test_the_owner_of_an_account_is_no_alias_of_its_customer() -> None:
    for made in (payment(counterparty="AMZN MKTP"), payment(amount="1190.00", counterparty="Petra Weber")):
        aliases = aliases_between("invoice_to_payment", invoice(), made)

        assert len(aliases) == 1
        assert all(party.key for party in (aliases[0].first, aliases[0].second))


def test_parties_with_different_vat_identifiers_are_never_aliases() -> None:
    other = invoice("other", seller={"name": "Winter KG", "vat_id": "DE811569869"})
    alias = PartyAlias(identity("Sommer GmbH"), identity("Winter KG"))

    assert not aliases_between("duplicate", invoice(), other)
    assert not PartyAliases([alias]).is_same(invoice().seller, other.seller)
    assert PartyAliases([alias]).is_same(identity("Sommer"), other.seller)


def test_a_card_payment_without_a_counterparty_is_known_by_the_first_words_of_its_text() -> None:
    aliases = learned(invoice(seller=AMAZON), card_payment())
    later = card_payment("later", "AMZN Mktp DE*9Q8W7E6 amzn.com/bill")

    assert party_of_text("AMZN MKTP DE*2X3Y4Z5").key == "amzn mktp"
    assert aliases.is_same(identity("Amazon EU"), with_party_of_text(later).seller)


def test_the_next_invoice_of_that_party_is_linked_by_the_alias_and_says_so() -> None:
    aliases = learned(invoice(seller=AMAZON), payment(counterparty="AMZN MKTP"))
    bill = invoice(
        "bill",
        seller=AMAZON,
        number="INV-77811",
        issue_date="2026-03-01",
        gross_total="84.90",
        net_total="71.34",
    )
    debit = payment(
        "debit", amount="-84.90", date="2026-03-03", counterparty="AMZN MKTP", description="INV-77811"
    )

    before = score_pair(bill, debit, WEIGHTS)
    after = aliases.score_pair(debit, bill, WEIGHTS)
    assert before is not None
    assert after is not None
    (doubted,) = decide([before], WEIGHTS)
    (link,) = with_alias_reasons(decide([after], WEIGHTS), [after])

    assert (doubted.state, link.state) == ("suggested", "automatic")
    assert after.log_odds > before.log_odds
    assert (after.first, after.second) == (bill, debit)
    assert after.evidence.party == Likeness.SAME_NAME
    (reason,) = (reason for reason in link.reasons if reason.code == "party_alias")
    assert reason_text(reason) == (
        "The seller is the same, as an earlier decision says: Amazon EU S.a.r.l. and AMZN MKTP."
    )


def test_an_alias_makes_no_difference_to_other_pairs() -> None:
    aliases = learned(invoice(seller=AMAZON), payment(counterparty="AMZN MKTP"))

    for made in (payment(counterparty="Sommer"), payment(counterparty="Winter KG"), card_payment()):
        assert aliases.score_pair(invoice(), made, WEIGHTS) == score_pair(invoice(), made, WEIGHTS)


def test_what_stands_for_many_parties_is_an_alias_of_none() -> None:
    names = ["Ahorn GmbH", "Birke AG", "Zeder KG", "Eiche OHG"]
    aliases = [PartyAlias(identity(name), identity("PayPal Europe")) for name in names]

    few, many = PartyAliases(aliases[:MOST_PARTIES]), PartyAliases(aliases)

    assert few.is_same(identity("Ahorn"), identity("PayPal Europe"))
    assert not many.is_same(identity("Ahorn"), identity("PayPal Europe"))
    assert not few.is_same(identity("Ahorn"), identity("Birke"))


def test_spellings_of_one_party_count_as_one() -> None:
    names = ["Amazon EU", "Amazon EU S.a.r.l.", "Amazon EU Deutschland", "AMAZON EU SARL", "Amazon"]
    aliases = PartyAliases([PartyAlias(identity(name), identity("AMZN MKTP")) for name in names])

    assert aliases.is_same(identity("Amazon EU"), identity("AMZN MKTP DE"))


def test_candidates_are_looked_for_under_the_aliases_too() -> None:
    from docmill.matching.candidate_keys import stored_keys  # noqa: PLC0415

    bill = invoice(seller=AMAZON, buyer={}, gross_total="84.90", net_total="71.34")
    aliases = learned(bill, card_payment())
    debit = card_payment("debit")
    found = {key for key, kind in stored_keys(bill).items() if kind == "party_quarter"}

    assert found
    assert found <= aliases.asked_keys(debit).keys()
    assert not found & PartyAliases().asked_keys(debit).keys()


parties = st.builds(
    identity,
    st.sampled_from(["", "Sommer GmbH", "AMZN MKTP", "Amazon EU", "Winter KG"]),
    vat_id=st.sampled_from([None, SELLER["vat_id"], "DE811569869"]),
    account=st.sampled_from([None, "DE89370400440532013000"]),
)


@given(st.lists(st.builds(PartyAlias, parties, parties), max_size=5), parties, parties)
def test_an_alias_is_mutual_and_never_against_a_vat_identifier(
    aliases: list[PartyAlias], one: PartyIdentity, other: PartyIdentity
) -> None:
    known = PartyAliases(aliases)

    assert known.is_same(one, other) == known.is_same(other, one)
    if known.is_same(one, other):
        assert not (one.vat_id and other.vat_id) or one.vat_id == other.vat_id
        found = {
            key for alias in aliases for party in (alias.first, alias.second) for key in lookup_keys(party)
        }
        assert found.intersection(lookup_keys(one))
