"""The side of its value on which a document prints labels: left of it, or over it."""

import re
from typing import NamedTuple

from docmill.understanding.fields.analysis_cache import once
from docmill.understanding.fields.candidates import Candidates

_NUMBER = re.compile(r"[^\w]*\d")
_MOSTLY = 1.5
"""How many times as often labels stand on one side as on the other in a document of one layout."""


class LabelSides(NamedTuple):
    """Counts of texts without digits that stand left of a number, and of those right over one."""

    left: int
    above: int


def is_other_side(candidates: Candidates, *, is_above: bool) -> bool:
    """Return whether most labels of the document stand on the other side of their values than this one."""
    sides = _label_sides(candidates)
    other, same = (sides.left, sides.above) if is_above else (sides.above, sides.left)
    return other > _MOSTLY * same + 1


@once
def _label_sides(candidates: Candidates) -> LabelSides:
    left = above = 0
    for segment in candidates.layout.segments:
        if not any(map(str.isdecimal, segment.text)):
            around = candidates.contexts.texts(segment)
            left += _NUMBER.match(around.right) is not None
            above += _NUMBER.match(around.below) is not None
        elif ":" in segment.text:
            left += 1
    return LabelSides(left, above)
