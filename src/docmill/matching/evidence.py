"""Evidence that two records belong together: each dimension has levels, a higher one speaks more for it."""

from enum import IntEnum
from typing import NamedTuple

from docmill.matching.parties import Likeness
from docmill.matching.return_words import ReturnLevel


class ReferenceLevel(IntEnum):
    """Whether one record names the number of the other.

    OTHER: it names another number of that kind. UNRELATED: a payment names some other number. MISTYPED: one
    that differs by a digit. PARTIAL: the beginning or end of the number.
    """

    OTHER = 0
    UNRELATED = 1
    UNKNOWN = 2
    MISTYPED = 3
    MISREAD = 4
    PARTIAL = 5
    TEXT = 6
    CORE = 7
    EQUAL = 8


class SharedLevel(IntEnum):
    """Whether both records name the same third number, such as an order's.

    LOOSE: a customer or contract. LINKED: both are linked to the same third record.
    """

    DIFFERENT = 0
    UNKNOWN = 1
    LOOSE = 2
    SAME = 3
    LINKED = 4


class AmountLevel(IntEnum):
    """How the amounts agree. PART: the second is a part of the first; EXPLAINED: by tax, discount or fee."""

    OTHER_CURRENCY = 0
    UNEXPLAINED = 1
    UNKNOWN = 2
    PART = 3
    CLOSE = 4
    EXPLAINED = 5
    EQUAL = 6


class DateLevel(IntEnum):
    """Whether the days are in the window of the relation."""

    IMPOSSIBLE = 0
    UNLIKELY = 1
    UNKNOWN = 2
    POSSIBLE = 3
    USUAL = 4
    EXPECTED = 5


class ItemLevel(IntEnum):
    """The share of the line items of the shorter list that the other has.

    EXACT: both have the same items, in the same quantities.
    """

    NONE = 0
    UNKNOWN = 1
    SOME = 2
    MOST = 3
    ALL = 4
    EXACT = 5


class AlternativeLevel(IntEnum):
    """Whether other records may take the place of one of the two.

    NONE: all that is known of both agrees, and no other pair of either comes near it.
    """

    UNKNOWN = 0
    NONE = 1


class Evidence(NamedTuple):
    """The levels of one pair. party: who is paid; other_party: who pays. alternatives: see `alternatives`.

    Of a payment and its return, party is the counterparty, and other_party the owner of the account.
    returned: of these alone.
    """

    reference: ReferenceLevel
    shared: SharedLevel
    party: Likeness
    other_party: Likeness
    amount: AmountLevel
    date: DateLevel
    items: ItemLevel
    returned: ReturnLevel = ReturnLevel.UNKNOWN
    alternatives: AlternativeLevel = AlternativeLevel.UNKNOWN

    @property
    def is_named(self) -> bool:
        """Whether one record names the other, or both the same third one."""
        return self.reference >= ReferenceLevel.TEXT or self.shared >= SharedLevel.SAME

    @property
    def is_named_without_contradiction(self) -> bool:
        """Whether one record names the other by its whole number, and nothing known speaks against it.

        Where the seller could not be read, for example, a person can still tell whether they belong together.
        """
        return (
            self.reference >= ReferenceLevel.EQUAL
            and self.shared >= SharedLevel.UNKNOWN
            and self.party >= Likeness.UNKNOWN
            and self.amount >= AmountLevel.UNKNOWN
            and self.date >= DateLevel.POSSIBLE
            and self.items >= ItemLevel.UNKNOWN
        )

    @property
    def may_be_part(self) -> bool:
        """Whether the amounts of the records may be explained by a sum that others belong to as well.

        Only records of the same currency, in the window of the relation, and of the same party or named by
        number are added up; what is named by its own number may be older.
        """
        is_cited = self.reference >= ReferenceLevel.TEXT
        return (
            self.amount != AmountLevel.OTHER_CURRENCY
            and self.date >= (DateLevel.UNLIKELY if is_cited else DateLevel.UNKNOWN)
            and (self.is_named or max(self.party, self.other_party) >= Likeness.SIMILAR)
            and self.party != Likeness.DIFFERENT
        )


LEVELS: tuple[type[IntEnum], ...] = (
    ReferenceLevel,
    SharedLevel,
    Likeness,
    Likeness,
    AmountLevel,
    DateLevel,
    ItemLevel,
    ReturnLevel,
    AlternativeLevel,
)
"""The levels of each dimension, lowest first."""
