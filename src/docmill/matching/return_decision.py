"""Which payments are returned by which bookings, where several of one amount were paid and returned in turn.

Paid, returned, paid again and returned again, each payment has the same partner, amount and numbers as the
others. What tells them apart is the order: a return is that of the latest payment before it that is not
returned yet.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from docmill.matching.match_record import MatchRecord
from docmill.matching.pairs import ScoredPair

_CLEAR_LOG_ODDS = 4.0
"""By so much a pair must be better than others of its return, so that these need not be rivals of it."""


def without_impossible_returns(
    pairs: Iterable[ScoredPair], confirmed: frozenset[tuple[str, str]] = frozenset()
) -> list[ScoredPair]:
    """The pairs of payments and returns, without those whose payment or return is clearly another pair's.

    confirmed: pairs of ids, which stay, and are taken first.
    """
    pairs = sorted(pairs, key=lambda pair: pair.key)
    at: defaultdict[str, list[ScoredPair]] = defaultdict(list)
    for pair in pairs:
        for id_ in pair.ids:
            at[id_].append(pair)
    taken = {pair.key for pair in pairs if pair.ids in confirmed}
    busy = {id_ for pair in pairs if pair.key in taken for id_ in pair.ids}
    returns = {pair.second.id: pair.second for pair in pairs}
    for returning in sorted(returns.values(), key=_order):
        free = [
            pair for pair in at[returning.id] if pair.second.id == returning.id and busy.isdisjoint(pair.ids)
        ]
        best = _clearly_best(free)
        if best is not None and not _is_contested(best, at, busy):
            taken.add(best.key)
            busy.update(best.ids)
    return [pair for pair in pairs if pair.key in taken or busy.isdisjoint(pair.ids)]


def _clearly_best(pairs: Sequence[ScoredPair]) -> ScoredPair | None:
    """The pair of the likeliest payment, or of the latest that is like it; None if another one is near."""
    if not pairs:
        return None
    likeliest = max(pairs, key=lambda pair: (pair.log_odds, _order(pair.first)))
    alike = [pair for pair in pairs if _are_alike(pair.first, likeliest.first)]
    best = max(alike, key=lambda pair: _order(pair.first))
    others = [pair.log_odds for pair in pairs if pair not in alike]
    is_clear = best.log_odds >= max(others, default=0.0) + (_CLEAR_LOG_ODDS if others else 0.0)
    return best if best.log_odds > 0 and is_clear else None


def _is_contested(best: ScoredPair, at: "defaultdict[str, list[ScoredPair]]", busy: set[str]) -> bool:
    """Whether another return fits the payment better, or the return may be a payment that is returned."""
    return any(
        other.log_odds > best.log_odds
        for id_ in best.ids
        for other in at[id_]
        if other.key != best.key and other.second.id != best.second.id and busy.isdisjoint(other.ids)
    )


def _are_alike(one: MatchRecord, other: MatchRecord) -> bool:
    """Whether two payments differ in nothing but their day."""
    return (one.text_keys, one.gross_total, one.seller, one.buyer) == (
        other.text_keys,
        other.gross_total,
        other.seller,
        other.buyer,
    )


def _order(record: MatchRecord) -> tuple[str, str, int]:
    """By day, then by the place in the statement."""
    document, _, number = record.id.partition("#")
    day = record.issue_date.isoformat() if record.issue_date else ""
    return day, document, int(number) if number.isdecimal() else 0
