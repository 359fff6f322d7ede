"""Facts about the place of a value: where its label stands, and whether it may be a label itself."""

import re
from collections.abc import Mapping

from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import Finding
from docmill.understanding.fields.label_sides import is_other_side
from docmill.understanding.page.layout import Segment
from docmill.understanding.text.mixed_words import has_mixed_words

_NUMBER = re.compile(r"[^\w]*\d")
_FAR = 1.5
"""Text heights between a value and a text over it that is hardly its label."""
_LONG_LINE = 8
"""Words of a line that is rather a sentence."""


def surroundings_of(finding: Finding, candidates: Candidates, *, is_name: bool) -> Mapping[str, float]:
    """The facts about the place of a value, by their names in `FACTS`."""
    if not finding.spans:
        return {}
    last = finding.spans[-1]
    around = candidates.contexts.texts(last.segment)
    following = last.segment.text[last.stop :].strip()
    facts = {
        "label above": float(finding.is_under_label),
        "other layout": float(is_other_side(candidates, is_above=finding.is_under_label)),
        "far label": float(finding.is_under_label and _is_far(last.segment, candidates)),
        "in a line": float(len(last.segment.offsets) >= _LONG_LINE and bool(following)),
    }
    if is_name:
        facts |= {
            "number right": float(not following and _NUMBER.match(around.right) is not None),
            "number below": float(_NUMBER.match(around.below) is not None),
            "mixed": float(has_mixed_words(finding.value if isinstance(finding.value, str) else "")),
        }
    return facts


def _is_far(segment: Segment, candidates: Candidates) -> bool:
    """Return whether the nearest text over a segment stands farther away than a label over its value."""
    over = next(iter(candidates.layout.sheet(segment).above(segment.box)), None)
    return over is not None and segment.box.y0 - over.box.y1 > _FAR * segment.height
