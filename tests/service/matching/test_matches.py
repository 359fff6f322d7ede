"""People confirm, decline, make and undo links, and see clusters with what differs in them."""

from decimal import Decimal
from uuid import UUID

import pytest

from docmill.errors import ChangedError
from docmill.service.app import Service
from docmill.service.matches import DocumentMatches, Matches, NotMatchableError
from docmill.service.store import match_decisions, tenants
from docmill.service.store.database import new_id
from docmill.service.store.match_decisions import Decision, Pair
from docmill.service.store.match_edges import RELATED
from docmill.service.store.match_links import LinkCursor, LinkRow
from docmill.service.store.users import add as add_user
from support.matched_papers import CHAIN, INVOICE, ORDER, PARTIES, Content, Papers

OTHER_ORDER = (
    "purchase_order",
    {**ORDER[1], "number": "PO-9000", "gross_total": "500.00", "net_total": "420.17"},
)
DOUBTFUL_INVOICE = (
    "invoice",
    {
        **PARTIES,
        "number": "RE-7",
        "issue_date": "2026-01-15",
        "net_total": "1000.00",
        "gross_total": "1190.00",
    },
)
"""Without a number of its order, so that a person decides."""


@pytest.fixture
def made(service: Service) -> Papers:
    return Papers(service, service.default_tenant_id)


@pytest.fixture
def matches(service: Service) -> Matches:
    return Matches(service.database, service.feed)


@pytest.fixture
async def anna(service: Service) -> UUID:
    async with service.database.accounts() as conn:
        user_id = await add_user(
            conn, email="anna@example.org", name="Anna", password_hash=None, is_verified=True
        )
    assert user_id is not None
    return user_id


def link_between(found: DocumentMatches, other: UUID) -> LinkRow:
    return next(link for link in found.links if found.other_id(link).startswith(str(other)))


async def test_a_document_has_its_links_with_reasons_and_its_cluster(made: Papers, matches: Matches) -> None:
    await made.chain()

    found = await matches.of_document(made.id_of("order"), tenant_id=made.tenant_id)

    invoice = link_between(found, made.id_of("invoice"))
    assert (invoice.status, invoice.relation, invoice.link.reasons[0].code) == (
        "automatic",
        "order_to_invoice",
        "reference_equal",
    )
    assert invoice.score is not None
    assert invoice.score > 0.9
    assert {made.names[record.document.id] for record in found.records.values()} == set(CHAIN)
    assert len(found.cluster_links) == 4
    statement = next(record for record in found.records.values() if record.payment)
    assert (statement.payment, statement.amount, statement.kind) == (2, Decimal("1190.00"), "payment")


async def test_what_was_ordered_billed_and_paid_is_summed_up(made: Papers, matches: Matches) -> None:
    invoice = ("invoice", {**INVOICE[1], "net_total": "1100.00", "gross_total": "1309.00"})
    for name, content in {**CHAIN, "invoice": invoice}.items():
        await made.match(await made.add(name, content))

    found = await matches.of_document(made.id_of("order"), tenant_id=made.tenant_id)

    assert {(each.stage, each.gross) for each in found.three_way.totals} >= {
        ("ordered", Decimal("1190.00")),
        ("billed", Decimal("1309.00")),
    }
    assert ("billed", "ordered", Decimal("119.00")) in {
        (each.stage, each.of, each.amount) for each in found.three_way.differences
    }
    over_billed = next(each for each in found.discrepancies if each.code == "over_billed")
    assert (over_billed.expected, over_billed.found) == ("1000.00", "1100.00")


async def test_another_account_than_on_earlier_invoices_of_the_seller_is_told(
    made: Papers, matches: Matches
) -> None:
    for name, day, account in (
        ("earlier", "2026-01-15", "DE89370400440532013000"),
        ("later", "2026-02-15", "AT611904300234573201"),
        ("last", "2026-03-15", "AT611904300234573201"),
    ):
        values = {**INVOICE[1], "number": f"RE-{name}", "issue_date": day, "order_number": None}
        await made.match(await made.add(name, ("invoice", {**values, "payment": {"iban": account}})))

    told = {
        name: (await matches.of_document(made.id_of(name), tenant_id=made.tenant_id)).discrepancies
        for name in ("earlier", "later", "last")
    }

    assert told["earlier"] == told["last"] == ()
    (changed,) = told["later"]
    assert (changed.code, changed.other_ids) == ("iban_changed", (str(made.id_of("earlier")),))


async def test_a_declined_link_never_comes_back_by_itself(made: Papers, matches: Matches, anna: UUID) -> None:
    await made.chain()
    order, invoice = made.id_of("order"), made.id_of("invoice")
    link = link_between(await matches.of_document(order, tenant_id=made.tenant_id), invoice)

    declined = await matches.decide(link.pair.id, "declined", tenant_id=made.tenant_id, decided_by=anna)
    for document_id in made.names:
        await made.match(document_id)

    assert declined is not None
    assert declined.link.status == "declined"
    assert ("order", "invoice") not in await made.links()
    found = await matches.of_document(order, tenant_id=made.tenant_id)
    after = link_between(found, invoice)
    assert (after.status, after.decided_by) == ("declined", anna)
    assert after.pair not in {each.pair for each in found.cluster_links}


async def test_an_undone_decline_lets_the_link_come_back(made: Papers, matches: Matches, anna: UUID) -> None:
    await made.chain(("order", "invoice"))
    order = made.id_of("order")
    link = link_between(await matches.of_document(order, tenant_id=made.tenant_id), made.id_of("invoice"))
    await matches.decide(link.pair.id, "declined", tenant_id=made.tenant_id, decided_by=anna)
    assert await made.clusters() == []

    undone = await matches.undo(link.pair.id, tenant_id=made.tenant_id)

    assert undone is not None
    assert undone.link.status == "automatic"
    assert await made.clusters() == [{"order", "invoice"}]


async def test_undo_goes_back_decision_by_decision(made: Papers, matches: Matches, anna: UUID) -> None:
    await made.chain(("order", "invoice"))
    link = link_between(
        await matches.of_document(made.id_of("order"), tenant_id=made.tenant_id), made.id_of("invoice")
    )
    statuses: list[str] = []
    for decision in ("confirmed", "declined", "confirmed"):
        await matches.decide(link.pair.id, decision, tenant_id=made.tenant_id, decided_by=anna)  # type: ignore[arg-type]

    for _ in range(3):
        undone = await matches.undo(link.pair.id, tenant_id=made.tenant_id)
        assert undone is not None
        statuses.append(undone.link.status)

    assert statuses == ["declined", "confirmed", "automatic"]
    with pytest.raises(ChangedError):
        await matches.undo(link.pair.id, tenant_id=made.tenant_id)


async def test_a_decision_made_twice_is_one(made: Papers, matches: Matches, anna: UUID) -> None:
    await made.chain(("order", "invoice"))
    link = link_between(
        await matches.of_document(made.id_of("order"), tenant_id=made.tenant_id), made.id_of("invoice")
    )

    first = await matches.decide(link.pair.id, "confirmed", tenant_id=made.tenant_id, decided_by=anna)
    again = await matches.decide(link.pair.id, "confirmed", tenant_id=made.tenant_id, decided_by=anna)

    assert first == again
    undone = await matches.undo(link.pair.id, tenant_id=made.tenant_id)
    assert undone is not None
    assert undone.link.decision is None


async def test_a_link_by_hand_outlives_every_matching(made: Papers, matches: Matches, anna: UUID) -> None:
    order = await made.add("other order", OTHER_ORDER)
    invoice = await made.add("invoice", INVOICE)
    for document_id in (order, invoice):
        await made.match(document_id)
    assert ("other order", "invoice") not in await made.links()

    linked = await matches.link(
        Pair(str(invoice), str(order), "order_to_invoice"), tenant_id=made.tenant_id, decided_by=anna
    )
    for document_id in (order, invoice):
        await made.match(document_id)

    assert (linked.first.id, linked.second.id) == (str(order), str(invoice))
    assert await made.clusters() == [{"other order", "invoice"}]
    found = await matches.of_document(invoice, tenant_id=made.tenant_id)
    assert link_between(found, order).status == "confirmed"


async def test_what_a_link_by_hand_excludes_is_parted_at_once(
    made: Papers, matches: Matches, anna: UUID
) -> None:
    await made.chain(("order", "invoice"))
    other = await made.add("other order", OTHER_ORDER)
    await made.match(other)
    invoice = made.id_of("invoice")
    assert await made.links() == {("order", "invoice")}

    linked = await matches.link(
        Pair(str(other), str(invoice), "order_to_invoice"), tenant_id=made.tenant_id, decided_by=anna
    )

    assert await made.links() == {("other order", "invoice")}
    await matches.undo(linked.link.pair.id, tenant_id=made.tenant_id)
    assert await made.links() == {("order", "invoice")}


async def test_related_documents_say_nothing_of_other_relations(
    made: Papers, matches: Matches, anna: UUID
) -> None:
    await made.chain(("order", "invoice"))
    pair = Pair(str(made.id_of("order")), str(made.id_of("invoice")), RELATED)

    linked = await matches.link(pair, tenant_id=made.tenant_id, decided_by=anna)
    await matches.decide(linked.link.pair.id, "declined", tenant_id=made.tenant_id, decided_by=anna)
    await made.match(made.id_of("order"))

    assert await made.links() == {("order", "invoice")}


async def test_documents_of_any_type_can_be_linked_as_related(
    made: Papers, matches: Matches, anna: UUID
) -> None:
    letter = await made.add("letter", ("letter", {}))
    invoice = await made.add("invoice", INVOICE)
    await made.match(invoice)

    linked = await matches.link(
        Pair(str(letter), str(invoice), RELATED), tenant_id=made.tenant_id, decided_by=anna
    )

    found = await matches.of_document(letter, tenant_id=made.tenant_id)
    assert [link.pair for link in found.cluster_links] == [linked.link.pair]
    assert await matches.undo(linked.link.pair.id, tenant_id=made.tenant_id) is None
    assert (await matches.of_document(letter, tenant_id=made.tenant_id)).links == ()


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        (("invoice", "invoice", RELATED), "with itself"),
        (("order", "invoice", "invoice_to_payment"), "cannot have this relation"),
        (("order", "invoice", "cousin"), "cannot have this relation"),
        (("letter", "invoice", "order_to_invoice"), "no values"),
        (("deleted", "invoice", RELATED), "in the bin"),
        ((None, "invoice", RELATED), "no such document"),
    ],
)
async def test_a_link_that_cannot_be_is_refused_with_a_reason(
    made: Papers,
    matches: Matches,
    anna: UUID,
    ends: tuple[str | None, str, str],
    words: str,
) -> None:
    contents: dict[str, Content] = {**CHAIN, "letter": ("letter", {}), "deleted": ORDER}
    for name, content in contents.items():
        await made.match(await made.add(name, content))
    await made.service.bin.delete(made.id_of("deleted"), tenant_id=made.tenant_id, deleted_by=anna)
    first, second, relation = ends
    pair = Pair(str(made.id_of(first) if first else new_id()), str(made.id_of(second)), relation)

    with pytest.raises(NotMatchableError, match=words):
        await matches.link(pair, tenant_id=made.tenant_id, decided_by=anna)


async def test_a_payment_is_not_related_in_place_of_its_statement(
    made: Papers, matches: Matches, anna: UUID
) -> None:
    await made.chain()
    pair = Pair(str(made.id_of("invoice")), f"{made.id_of('statement')}#2", RELATED)

    with pytest.raises(NotMatchableError, match="Link the whole statement"):
        await matches.link(pair, tenant_id=made.tenant_id, decided_by=anna)


@pytest.mark.parametrize("relation", ["duplicate", "order_to_response"])
async def test_two_orders_have_one_link_of_a_relation_whichever_is_named_first(
    made: Papers, matches: Matches, anna: UUID, relation: str
) -> None:
    later = ("purchase_order", {**ORDER[1], "number": "PO-5000", "issue_date": "2026-01-09"})
    ids = [str(await made.add("later", later)), str(await made.add("order", ORDER))]
    for id_ in ids:
        await made.match(UUID(id_))

    links = [
        await matches.link(Pair(one, other, relation), tenant_id=made.tenant_id, decided_by=anna)
        for one, other in (ids, ids[::-1])
    ]

    assert {link.link.pair for link in links} == {Pair(ids[1], ids[0], relation)}


async def test_a_response_dated_before_its_order_comes_after_it(
    made: Papers, matches: Matches, anna: UUID
) -> None:
    response = ("purchase_order", {**ORDER[1], "number": "PO-4711-A", "issue_date": "2026-01-02"})
    ids = [await made.add("order", ORDER), await made.add("response", response)]
    for id_ in ids:
        await made.match(id_)
    order, answer = map(str, ids)

    linked = await matches.link(
        Pair(answer, order, "order_to_response"), tenant_id=made.tenant_id, decided_by=anna
    )

    assert linked.link.pair == Pair(order, answer, "order_to_response")
    assert linked.link.score is not None


async def test_decisions_about_a_link_are_kept_up_to_a_number(
    made: Papers, matches: Matches, anna: UUID
) -> None:
    await made.chain(("order", "invoice"))
    (link,) = (await matches.of_document(made.id_of("order"), tenant_id=made.tenant_id)).links
    decisions: list[Decision] = ["confirmed", "declined"]
    for decision in decisions * 15:
        await matches.decide(link.pair.id, decision, tenant_id=made.tenant_id, decided_by=anna)

    async with made.service.database.tenant(made.tenant_id) as conn:
        held = await match_decisions.get(conn, link.pair, tenant_id=made.tenant_id)

    assert held is not None
    assert [each["decision"] for each in held.earlier] == ["declined", "confirmed"] * 10


async def test_another_tenant_sees_and_changes_nothing(made: Papers, matches: Matches, anna: UUID) -> None:
    await made.chain()
    order = made.id_of("order")
    link = link_between(await matches.of_document(order, tenant_id=made.tenant_id), made.id_of("invoice"))
    async with made.service.database.accounts() as conn:
        stranger = await tenants.add(conn, "Elsewhere")

    assert (await matches.of_document(order, tenant_id=stranger)).links == ()
    assert (await matches.page(tenant_id=stranger)).matches == ()
    assert await matches.get(link.pair.id, tenant_id=stranger) is None
    assert await matches.undo(link.pair.id, tenant_id=stranger) is None
    assert await matches.decide(link.pair.id, "declined", tenant_id=stranger, decided_by=anna) is None
    with pytest.raises(NotMatchableError):
        await matches.link(link.pair, tenant_id=stranger, decided_by=anna)

    assert (
        link_between(await matches.of_document(order, tenant_id=made.tenant_id), made.id_of("invoice")).status
        == "automatic"
    )


async def test_links_of_a_deleted_document_are_not_shown(made: Papers, matches: Matches, anna: UUID) -> None:
    await made.chain()
    await made.service.bin.delete(made.id_of("invoice"), tenant_id=made.tenant_id, deleted_by=anna)

    found = await matches.of_document(made.id_of("order"), tenant_id=made.tenant_id)

    assert {made.names[record.document.id] for record in found.records.values()} == {"order", "delivery"}
    assert len((await matches.page(tenant_id=made.tenant_id)).matches) == 1


async def test_the_list_has_pages_and_filters(made: Papers, matches: Matches, anna: UUID) -> None:
    await made.chain()
    invoice = made.id_of("invoice")
    letter = await made.add("letter", ("letter", {}))
    await matches.link(Pair(str(letter), str(invoice), RELATED), tenant_id=made.tenant_id, decided_by=anna)

    seen: list[Pair] = []
    after: LinkCursor | None = None
    while True:
        page = await matches.page(tenant_id=made.tenant_id, after=after, limit=2)
        seen += [each.link.pair for each in page.matches]
        if page.follow is None:
            break
        after = LinkCursor.parse(page.follow.text)
        assert after == page.follow

    assert len(seen) == len(set(seen)) == 5
    confirmed = await matches.page(tenant_id=made.tenant_id, status="confirmed")
    assert [each.link.relation for each in confirmed.matches] == [RELATED]
    paid = await matches.page(tenant_id=made.tenant_id, relation="invoice_to_payment")
    assert [each.second.payment for each in paid.matches] == [2]
    of_delivery = await matches.page(tenant_id=made.tenant_id, document_id=made.id_of("delivery"))
    assert len(of_delivery.matches) == 2


async def test_the_list_can_show_what_differs_alone(made: Papers, matches: Matches) -> None:
    invoice = ("invoice", {**INVOICE[1], "net_total": "1100.00", "gross_total": "1309.00"})
    for name, content in {"order": ORDER, "invoice": invoice, "delivery": CHAIN["delivery"]}.items():
        await made.match(await made.add(name, content))

    page = await matches.page(tenant_id=made.tenant_id, with_discrepancies=True)

    assert [(each.link.relation, each.discrepancies[0].code) for each in page.matches] == [
        ("order_to_invoice", "over_billed")
    ]


async def test_suggestions_are_counted_until_somebody_decides(
    made: Papers, matches: Matches, anna: UUID
) -> None:
    await made.match(await made.add("order", ORDER))
    await made.match(await made.add("invoice", DOUBTFUL_INVOICE))
    await made.suggest("order", "invoice")
    suggested = (await matches.page(tenant_id=made.tenant_id, status="suggested")).matches
    before = await matches.count_suggested(tenant_id=made.tenant_id, most=100)

    for each in suggested:
        await matches.decide(each.link.pair.id, "declined", tenant_id=made.tenant_id, decided_by=anna)

    assert (before, len(suggested)) == (1, 1)
    assert await matches.count_suggested(tenant_id=made.tenant_id, most=100) == 0


async def test_the_ways_to_link_two_documents_follow_from_their_types(made: Papers, matches: Matches) -> None:
    await made.chain(("order", "statement"))
    invoice = await made.add("invoice", DOUBTFUL_INVOICE)
    await made.match(invoice)
    others = [made.id_of("order"), made.id_of("statement")]

    found = await matches.choices(invoice, [*others, invoice, new_id()], tenant_id=made.tenant_id)

    assert list(found) == others
    by_name = {
        made.names[other]: [(choice.pair.relation, choice.other.payment) for choice in choices]
        for other, choices in found.items()
    }
    assert by_name["statement"] == [("invoice_to_payment", 2), ("invoice_to_payment", 1), (RELATED, None)]
    assert by_name["order"] == [("order_to_invoice", None), (RELATED, None)]
