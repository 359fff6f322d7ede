"""Directions of bookings: by their signs, by a column that names the side, or by balances."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

from docmill.reading.statements.cell_values import fold, words_by_language

DEBIT, CREDIT = -1, 1
_PLUS, _MINUS = frozenset("+"), frozenset("-\u2212\u2013")


class WrittenBooking(NamedTuple):
    """The amount of a row. amount: as written, with its sign. is_signed: whether it has one, a plus, too.

    side: -1 for a debit and 1 for a credit, if another cell says so; None if none does.
    """

    amount: Decimal
    is_signed: bool
    side: int | None


class Directed(NamedTuple):
    """Amounts, negative for debits. is_certain: False where the directions are a guess."""

    amounts: tuple[Decimal, ...]
    is_certain: bool


@dataclass(frozen=True, slots=True)
class BalanceProof:
    """Balances that the right amounts lead to.

    days: of the bookings. running: after each booking; None where none is stated. opening, closing: before
    the first and after the last booking. labels: the cells of each row, which may name its side.
    """

    days: Sequence[date]
    running: Sequence[Decimal | None]
    opening: Decimal | None = None
    closing: Decimal | None = None
    labels: Sequence[tuple[str, ...]] = ()

    def confirms(self, amounts: Sequence[Decimal]) -> bool:
        """True if balances are stated, and these amounts lead from each to the next."""
        if self.opening is not None and self.closing is not None:
            return self.opening + sum(amounts, Decimal(0)) == self.closing
        return any(
            all(balance + amounts[after] == self.running_at(after) for balance, after in self._steps(order))
            for order in self.orders()
        )

    def orders(self) -> Iterator[range]:
        """The chronological orders that the days allow, as indices; none without all running balances."""
        count = len(self.days)
        if count < 2 or None in self.running:  # noqa: PLR2004 - a single balance proves nothing
            return
        if self.days[0] <= self.days[-1]:
            yield range(count)
        if self.days[0] >= self.days[-1]:
            yield range(count - 1, -1, -1)

    def running_at(self, index: int) -> Decimal:
        """The balance after a booking, which must be stated."""
        balance = self.running[index]
        assert balance is not None  # see `orders`
        return balance

    def _steps(self, order: range) -> Iterator[tuple[Decimal, int]]:
        """Each balance, with the index of the booking that follows it."""
        if self.opening is not None:
            yield self.opening, order[0]
        for earlier, later in pairwise(order):
            yield self.running_at(earlier), later

    def derive(self, bookings: Sequence[WrittenBooking]) -> Iterator[tuple[Decimal, ...]]:
        """The amounts whose signs are those of the differences between balances.

        Two for each order in which nothing tells the sign of the first booking.
        """
        for order in self.orders():
            amounts = {after: self.running_at(after) - before for before, after in self._steps(order)}
            if any(abs(amount) != abs(bookings[index].amount) for index, amount in amounts.items()):
                continue
            first = abs(bookings[order[0]].amount)
            known = amounts.get(order[0])
            sign = bookings[order[0]].side or self._sign_by_label(amounts, order[0])
            firsts = (
                {known} if known is not None else {first * each for each in ((sign,) if sign else (1, -1))}
            )
            for each in sorted(firsts):
                yield tuple(({**amounts, order[0]: each})[index] for index in range(len(bookings)))

    def _sign_by_label(self, amounts: dict[int, Decimal], first: int) -> int | None:
        """The sign of the first booking, by a column of two values that agrees with all other signs."""
        for column in range(min(map(len, self.labels), default=0)):
            signs: dict[str, set[bool]] = {}
            for index, amount in amounts.items():
                signs.setdefault(self.labels[index][column], set()).add(amount > 0)
            label = self.labels[first][column]
            if label in signs and sorted(map(tuple, signs.values())) == [(False,), (True,)]:
                return 1 if True in signs[label] else -1
        return None


def direct_amounts(bookings: Sequence[WrittenBooking], proof: BalanceProof) -> Directed:
    """The amounts with their directions. Balances decide; without any, what is written does."""
    usual = _as_written(bookings)
    is_confirmed = proof.confirms(usual.amounts)
    if usual.is_certain and is_confirmed:
        return usual
    written = tuple(booking.amount for booking in bookings)
    sided = tuple(abs(booking.amount) * (booking.side or 1) for booking in bookings)
    turned = tuple(booking.amount * (booking.side or 1) for booking in bookings)
    proved = {amounts for amounts in (usual.amounts, written, sided, turned) if proof.confirms(amounts)}
    proved.update(proof.derive(bookings))
    if len(proved) == 1:
        return Directed(proved.pop(), is_certain=True)
    return usual if not proved else Directed(usual.amounts, is_certain=False)


def _as_written(bookings: Sequence[WrittenBooking]) -> Directed:
    """The amounts by their signs and sides alone."""
    sides = {booking.side for booking in bookings if booking.amount}
    written = tuple(booking.amount for booking in bookings)
    agree = all((each.amount > 0) == (each.side > 0) for each in bookings if each.side and each.amount)
    if not sides - {None}:
        return Directed(written, is_certain=any(booking.is_signed for booking in bookings) or not sides)
    if agree and any(amount < 0 for amount in written):
        return Directed(written, is_certain=True)
    is_usual_negative: dict[int | None, bool] = {}
    is_certain = None not in sides
    for side in sides:
        negative = [booking.amount < 0 for booking in bookings if booking.side == side and booking.amount]
        is_certain = is_certain and len(set(negative)) == 1
        is_usual_negative[side] = side is not None and sum(negative) > len(negative) / 2
    return Directed(
        tuple(
            booking.amount * (booking.side or 1) * (-1 if is_usual_negative.get(booking.side) else 1)
            for booking in bookings
        ),
        is_certain,
    )


def find_sides(values: Sequence[str], heading: str) -> list[int | None] | None:
    """The side that each value of a column names: -1 debit, 1 credit, None for an empty or unknown one.

    None if most values name none, or if languages contradict each other: D is a debit beside H, and K, and a
    credit beside MD. heading: often names both values, such as *C/D*.
    """
    marks = [_mark(value) for value in values]
    used = {mark for mark in marks if mark}
    named = {_mark(part) for part in heading.split("/")} if "/" in heading else {_mark(heading)}
    readings: set[tuple[tuple[str, int], ...]] = set()
    best = (0, 0, False)
    for debits, credits_ in _pairs():
        known = {mark: -1 if mark in debits else 1 for mark in used if mark in debits | credits_}
        score = (len(known), len(set(known.values())), len(named & (debits | credits_)) > 1)
        if known and score >= best:
            readings = readings if score == best else set()
            readings.add(tuple(sorted(known.items())))
            best = score
    if len(readings) != 1:
        return None
    side_of = dict(readings.pop())
    sides = [side_of.get(mark) for mark in marks]
    unknown = sum(1 for mark, side in zip(marks, sides, strict=True) if mark and side is None)
    return sides if unknown <= len(marks) / 5 else None


def _mark(value: str) -> str:
    plain = value.strip()
    if plain and set(plain) <= _PLUS:
        return "+"
    if plain and set(plain) <= _MINUS:
        return "-"
    return fold(plain)


def _pairs() -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    """The marks of debits and credits, language by language."""
    credits_ = words_by_language("marks_of_credits")
    for language, debits in words_by_language("marks_of_debits").items():
        yield debits, credits_[language]
    yield frozenset("-"), frozenset("+")
