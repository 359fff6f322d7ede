"""Global assignment: of the links that exclude each other, those are taken that explain the records best.

A bundle is a link, or several that stand or fall together since their amounts add up. Each bundle claims
places that only one can have: a delivery note has one order, a payment pays one thing. The bundles with the
greatest sum of log-odds are taken; this is a set packing, solved exactly for each group of rivals.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from docmill.matching.clusters import DisjointSets
from docmill.matching.evidence import ReferenceLevel, SharedLevel
from docmill.matching.items import pair_items
from docmill.matching.pairs import ScoredPair
from docmill.matching.sums import SumGroup

if TYPE_CHECKING:
    from docmill.matching.outcome import Relation

_SURE = 1000.0
"""Added to the value of a bundle for each confirmed link; more than log-odds ever take from it."""
PAID = frozenset({"invoice_to_payment", "receipt_to_payment", "credit_note_to_payment"})


@dataclass(frozen=True, slots=True)
class Bundle:
    """Links that are taken together. places: what only one bundle can have.

    value: the sum of log-odds, with so much for each confirmed link that no other bundle outweighs it.
    """

    pairs: tuple[ScoredPair, ...]
    places: frozenset[Hashable]
    value: float


def bundles_of(
    pairs: Iterable[ScoredPair],
    sums: Iterable[SumGroup],
    confirmed: frozenset[tuple[str, str]] = frozenset(),
) -> list[Bundle]:
    """The bundles with a positive value: single links, sums, and links of records that name each other.

    confirmed: pairs of ids. Confirmed links never exclude each other: where one is in a bundle, so are those
    that claim the same places.
    """
    pairs = list(pairs)
    groups: list[tuple[ScoredPair, ...]] = [(pair,) for pair in pairs]
    groups.extend(group.pairs for group in sums)
    groups.extend(_named_together(pairs))
    sure = [pair for pair in pairs if pair.ids in confirmed]
    bundles = [
        Bundle(
            group,
            frozenset(place for pair in group for place in places_of(pair)),
            sum(pair.log_odds + _SURE * (pair.ids in confirmed) for pair in group),
        )
        for group in _with_confirmed(groups, sure)
    ]
    return [bundle for bundle in bundles if bundle.value > 0]


def places_of(pair: ScoredPair) -> Iterator[Hashable]:
    """The places of a link: its own, and one for each of its records.

    A record has one link of a relation, unless a bundle says otherwise; a payment pays one thing. Of a
    document there may be any number of copies, so duplicates exclude no other.
    """
    first, second = pair.first.id, pair.second.id
    yield pair.key
    if pair.relation == "duplicate":
        return
    if pair.relation in PAID:
        yield "paid", first
        yield paying(pair)
    elif pair.relation == "payment_to_return":
        # A payment has one return, which is returned by none itself, and pays nothing.
        yield pair.relation, first
        yield pair.relation, second
        yield paying(pair)
    else:
        yield pair.relation, "first", first
        yield pair.relation, "second", second


def paying(pair: ScoredPair) -> Hashable:
    """The place of what a payment pays."""
    return "paying", pair.second.id


def is_named(pair: ScoredPair) -> bool:
    """Return whether one record names the other by its number; a payment may do so in its text."""
    least = ReferenceLevel.TEXT if pair.second.kind == "payment" else ReferenceLevel.CORE
    return pair.evidence.reference >= least


def _named_together(pairs: Sequence[ScoredPair]) -> Iterator[tuple[ScoredPair, ...]]:
    """The links of a relation between records that name each other, where one has several.

    Documents of one kind with the same number exclude each other: each group has one of them. The deliveries
    and the invoice of one order belong together as well, if no more was delivered than billed.
    """
    by_relation: defaultdict[Relation, list[ScoredPair]] = defaultdict(list)
    for pair in pairs:
        is_single = pair.relation in ("duplicate", "payment_to_return")
        if not is_single and pair.log_odds > 0 and (is_named(pair) or _is_of_same_order(pair)):
            by_relation[pair.relation].append(pair)
    for named in by_relation.values():
        sets = DisjointSets()
        for pair in named:
            sets.join(pair.first.id, pair.second.id)
        together: defaultdict[str, list[ScoredPair]] = defaultdict(list)
        for pair in named:
            together[sets.root(pair.first.id)].append(pair)
        for group in together.values():
            for consistent in _without_equal_numbers(group):
                if len(consistent) > 1 and (all(map(is_named, consistent)) or _is_one_delivery(consistent)):
                    yield consistent


def _is_of_same_order(pair: ScoredPair) -> bool:
    return pair.relation == "delivery_to_invoice" and pair.evidence.shared >= SharedLevel.SAME


def _without_equal_numbers(group: Sequence[ScoredPair]) -> Iterator[tuple[ScoredPair, ...]]:
    """The group, or where several of its documents have one number, the group with each of them alone."""
    by_number: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for pair in group:
        for record in (pair.first, pair.second):
            if record.number is not None:
                by_number[record.kind, record.number.key].add(record.id)
    rivals = sorted(each for ids in by_number.values() if len(ids) > 1 for each in ids)
    if not rivals:
        yield tuple(group)
    for kept in rivals:
        others = {each for ids in by_number.values() if kept in ids for each in ids} - {kept}
        others |= {each for ids in by_number.values() if len(ids) > 1 and kept not in ids for each in ids}
        yield tuple(pair for pair in group if not others & {pair.first.id, pair.second.id})


def _is_one_delivery(group: Sequence[ScoredPair]) -> bool:
    """True if one delivery has several invoices, or one invoice bills all that was delivered.

    Notes of the same goods count once: the seller's and the buyer's of one delivery.
    """
    invoices = {pair.second.id: pair.second for pair in group}
    deliveries = {pair.first.id: pair.first for pair in group}
    if len(deliveries) == 1:
        return True
    if len(invoices) > 1:
        return False
    (invoice,) = invoices.values()
    goods = {
        tuple((item.quantity, item.unit_price) for item in each.items): each for each in deliveries.values()
    }
    delivered: defaultdict[int, Decimal] = defaultdict(Decimal)
    for delivery in goods.values():
        for at in pair_items(delivery.items, invoice.items):
            delivered[at.second] += delivery.items[at.first].quantity or 0
    return all(quantity <= (invoice.items[at].quantity or quantity) for at, quantity in delivered.items())


def _with_confirmed(
    groups: Sequence[tuple[ScoredPair, ...]], sure: Sequence[ScoredPair]
) -> Iterator[tuple[ScoredPair, ...]]:
    """The groups, each with all confirmed links that are connected by places to one that it has."""
    if not sure:
        yield from groups
        return
    sets = DisjointSets(str(pair.key) for pair in sure)
    owner: dict[Hashable, str] = {}
    for pair in sure:
        for place in places_of(pair):
            sets.join(owner.setdefault(place, str(pair.key)), str(pair.key))
    connected: defaultdict[str, list[ScoredPair]] = defaultdict(list)
    root_of = {pair.key: sets.root(str(pair.key)) for pair in sure}
    for pair in sure:
        connected[root_of[pair.key]].append(pair)
    for group in groups:
        own = {pair.key for pair in group}
        roots = {root_of[pair.key] for pair in group if pair.key in root_of}
        missing = (pair for root in sorted(roots) for pair in connected[root] if pair.key not in own)
        yield (*group, *missing)


def best_bundles(bundles: Sequence[Bundle]) -> list[Bundle]:
    """The bundles without a common place whose values add up to the most."""
    return [bundle for rivals in _rival_groups(bundles) for bundle in _best_of(rivals)]


def _rival_groups(bundles: Sequence[Bundle]) -> list[list[Bundle]]:
    """Bundles that are connected by common places."""
    sets = DisjointSets(map(str, range(len(bundles))))
    owner: dict[Hashable, str] = {}
    for index, bundle in enumerate(bundles):
        for place in bundle.places:
            sets.join(owner.setdefault(place, str(index)), str(index))
    return [[bundles[int(index)] for index in each] for each in sets.sets()]


def _best_of(rivals: list[Bundle]) -> list[Bundle]:
    ranked = sorted(rivals, key=lambda bundle: (-bundle.value, [pair.key for pair in bundle.pairs]))
    common = set(ranked[0].places).intersection(*(bundle.places for bundle in ranked))
    if common:
        return ranked[:1]
    from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415  slow to load

    places = sorted({place for bundle in ranked for place in bundle.places}, key=str)
    row_of = {place: row for row, place in enumerate(places)}
    matrix = np.zeros((len(places), len(ranked)))
    for column, bundle in enumerate(ranked):
        for place in bundle.places:
            matrix[row_of[place], column] = 1
    # The tiny second term makes the result the same where several are equally good.
    values = np.array([bundle.value for bundle in ranked]) - np.arange(len(ranked)) * 1e-6
    result = milp(
        -values,
        constraints=LinearConstraint(matrix, ub=1),
        integrality=np.ones(len(ranked), np.int64),
        bounds=Bounds(0, 1),
    )
    assert result.x is not None, "taking no bundle is always possible"
    return [bundle for bundle, share in zip(ranked, result.x, strict=True) if share > 0.5]  # noqa: PLR2004
