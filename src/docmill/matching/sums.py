"""Parts that add up: collective payments and invoices, instalments, partial bills and partial deliveries."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from operator import add, lt, sub
from typing import NamedTuple

from docmill.matching.amounts import AmountComparison, discounted, discounts, total
from docmill.matching.evidence import AmountLevel, ReferenceLevel
from docmill.matching.items import pair_items
from docmill.matching.match_record import MatchRecord
from docmill.matching.outcome import Relation
from docmill.matching.pairs import ScoredPair
from docmill.matching.relations import WHOLES, Side

MOST_PARTS = 12
_MOST_CANDIDATES = 14
_MOST_STEPS = 4000
"""Combinations that are tried for one record."""

Figures = tuple[Decimal, ...]
"""What is added up: one amount, or the quantity of each line item of the whole."""
Rescore = Callable[[ScoredPair, AmountComparison], ScoredPair]

_BY_QUANTITY: frozenset[Relation] = frozenset({"order_to_delivery", "delivery_to_invoice"})


class SumGroup(NamedTuple):
    """The links of one record to the parts that add up to it, with their amounts explained by the sum.

    whole_id: of that record. is_only: no other combination of the candidates adds up to it.
    """

    pairs: tuple[ScoredPair, ...]
    whole_id: str
    is_only: bool


class _Part(NamedTuple):
    """A candidate for a part, with the figures that it may have in the sum."""

    pair: ScoredPair
    options: tuple[Figures, ...]


def find_sums(
    pairs: Iterable[ScoredPair], rescore: Rescore, *, wholes: Collection[str] | None = None
) -> list[SumGroup]:
    """The groups of two or more pairs whose figures add up.

    Only what `Evidence.may_be_part` allows is combined. rescore: gives a pair another comparison of amounts.
    wholes: ids of the records whose sums are wanted, all of whose pairs must be given; None for all.
    """
    pairs = list(pairs)
    by_whole: defaultdict[tuple[Relation, Side, str], list[ScoredPair]] = defaultdict(list)
    for pair in pairs:
        for side in WHOLES.get(pair.relation, ()):
            if pair.evidence.may_be_part:
                by_whole[pair.relation, side, _whole(pair, side).id].append(pair)
    groups: list[SumGroup] = []
    for (relation, side, id_), candidates in by_whole.items():
        is_wanted = wholes is None or id_ in wholes
        if is_wanted and len(candidates) > 1 and not any(map(_is_settled, candidates)):
            groups.extend(_sums_of(relation, side, candidates, rescore))
    groups.extend(group for group in _offsets(pairs, rescore) if wholes is None or group.whole_id in wholes)
    return groups


def wholes_of(pair: ScoredPair) -> list[str]:
    """The ids of the records whose sums a pair may change."""
    if not pair.evidence.may_be_part:
        return []
    if pair.relation == "credit_note_to_payment":
        return [pair.second.id]
    return [
        _whole(pair, side).id
        for side in WHOLES.get(pair.relation, ())
        if pair.relation in _BY_QUANTITY
        or _whole(pair, side).kind == "payment"  # from which a credit note may have been taken
        or _is_settled(pair)
        or _is_larger(_whole(pair, side), _part(pair, side))
    ]


def _is_larger(whole: MatchRecord, part: MatchRecord) -> bool:
    """Whether a record can be the sum of another and more, with tax or without."""
    is_larger_net = (whole.net_total or 0) > (part.net_total or 0)
    return is_larger_net or (total(whole) or 0) > (total(part) or 0)


def _offsets(pairs: Sequence[ScoredPair], rescore: Rescore) -> Iterator[SumGroup]:
    """The payments of an invoice less a credit note."""
    credit_pairs: defaultdict[str, list[ScoredPair]] = defaultdict(list)
    for pair in pairs:
        if pair.relation == "credit_note_to_payment" and pair.evidence.may_be_part:
            credit_pairs[pair.second.id].append(pair)
    found: defaultdict[str, list[tuple[ScoredPair, ScoredPair]]] = defaultdict(list)
    for pair in pairs:
        if (
            pair.relation == "invoice_to_payment"
            and pair.second.id in credit_pairs
            and pair.evidence.may_be_part
        ):
            rest = (total(pair.first) or Decimal(0)) - (total(pair.second) or Decimal(0))
            found[pair.second.id].extend(
                (pair, credit)
                for credit in credit_pairs[pair.second.id]
                if rest and total(credit.first) == rest
            )
    for groups in filter(None, found.values()):
        pair, credit = groups[0]
        invoice, note, paid = total(pair.first), total(credit.first), total(pair.second)
        yield SumGroup(
            (
                rescore(pair, AmountComparison(AmountLevel.EXPLAINED, "amount_less_credit", invoice, paid)),
                rescore(credit, AmountComparison(AmountLevel.EXPLAINED, "amount_set_off", note, paid)),
            ),
            pair.second.id,
            is_only=len(groups) == 1,
        )


def _is_settled(pair: ScoredPair) -> bool:
    """Whether a single link explains the amount of a record, which then needs no sum."""
    is_explained = pair.evidence.amount >= AmountLevel.EXPLAINED
    return is_explained and pair.evidence.reference >= ReferenceLevel.TEXT


def _whole(pair: ScoredPair, side: Side) -> MatchRecord:
    return pair.first if side == "first" else pair.second


def _part(pair: ScoredPair, side: Side) -> MatchRecord:
    return pair.second if side == "first" else pair.first


def _sums_of(
    relation: Relation, side: Side, candidates: Sequence[ScoredPair], rescore: Rescore
) -> Iterator[SumGroup]:
    """The group of one whole, of the records that name it or are named by it if these add up, else of all."""
    ranked = sorted(candidates, key=lambda pair: (-pair.log_odds, pair.key))
    named = [pair for pair in ranked if pair.evidence.is_named]
    for pool in (named, ranked):
        if relation in _BY_QUANTITY:
            target, parts = _quantities(_whole(pool[0], side), pool, side) if pool else ((), [])
        else:
            target, parts = _amounts(pool, side) if pool else ((), [])
        found = _combinations(parts[:_MOST_CANDIDATES], target) if any(target) else []
        if found:
            yield SumGroup(
                tuple(_explained(pair, relation, side, rescore) for pair in found[0]),
                _whole(pool[0], side).id,
                is_only=len(found) == 1,
            )
            return


def _explained(pair: ScoredPair, relation: Relation, side: Side, rescore: Rescore) -> ScoredPair:
    if relation in _BY_QUANTITY:
        return rescore(pair, AmountComparison(AmountLevel.EXPLAINED, "quantity_sum"))
    code = "amount_sum" if side == "second" else "amount_part_of_sum"
    return rescore(pair, AmountComparison(AmountLevel.EXPLAINED, code, total(pair.first), total(pair.second)))


def _amounts(pool: Sequence[ScoredPair], side: Side) -> tuple[Figures, list[_Part]]:
    """The amount of the whole, and of each part: as billed, or less a discount where it is paid."""
    whole = _whole(pool[0], side)
    is_net = pool[0].relation == "order_to_invoice" and all(
        record.net_total is not None for pair in pool for record in (pair.first, pair.second)
    )
    target = whole.net_total if is_net else total(whole)
    if not target:
        return (), []
    parts: list[_Part] = []
    for pair in pool:
        record = _part(pair, side)
        amount = record.net_total if is_net else total(record)
        if amount and amount < target:
            percents = discounts(record.terms) if whole.kind == "payment" else ()
            options = (amount, *(discounted(amount, percent) for percent in percents))
            parts.append(_Part(pair, tuple((option,) for option in options)))
    return (target,), parts


def _quantities(whole: MatchRecord, pool: Sequence[ScoredPair], side: Side) -> tuple[Figures, list[_Part]]:
    """The quantities of the whole's line items, and what each part has of them."""
    if not whole.items or any(item.quantity is None for item in whole.items):
        return (), []
    target = tuple(item.quantity or Decimal(0) for item in whole.items)
    parts: list[_Part] = []
    for pair in pool:
        items = _part(pair, side).items
        figures = [Decimal(0)] * len(target)
        for at in pair_items(whole.items, items):
            figures[at.first] += items[at.second].quantity or 0
        if any(figures) and all(one <= other for one, other in zip(figures, target, strict=True)):
            parts.append(_Part(pair, (tuple(figures),)))
    return target, parts


def _combinations(parts: Sequence[_Part], target: Figures) -> list[tuple[ScoredPair, ...]]:
    """Up to two combinations of two or more parts that add up to the target, the first parts first."""
    found: list[tuple[ScoredPair, ...]] = []
    steps = 0
    rest = [tuple(Decimal(0) for _ in target)]
    """What the parts from each index on can add up to at the most."""
    for part in reversed(parts):
        largest = [max(figures) for figures in zip(*part.options, strict=True)]
        rest.append(tuple(map(add, rest[-1], largest)))
    rest.reverse()

    def extend(index: int, left: Figures, chosen: tuple[ScoredPair, ...]) -> None:
        nonlocal steps
        steps += 1
        if not any(left):
            if len(chosen) > 1 and chosen not in found:
                found.append(chosen)
            return
        is_over = index == len(parts) or len(chosen) == MOST_PARTS or steps > _MOST_STEPS
        if is_over or len(found) > 1 or any(map(lt, rest[index], left)):
            return
        pair, options = parts[index]
        for option in options:
            remaining = tuple(map(sub, left, option))
            if min(remaining) >= 0:
                extend(index + 1, remaining, (*chosen, pair))
        extend(index + 1, left, chosen)

    extend(0, target, ())
    return found


def rescorer(weights: Mapping[Relation, Mapping[str, tuple[float, ...]]]) -> Rescore:
    """The function that gives a pair another comparison of amounts."""
    return lambda pair, amount: pair.with_amount(amount, weights[pair.relation])
