"""The two parties of a contract that a sentence names: `between … and …`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate

from docmill.schemas.document_types import DEFINITIONS, DocumentType
from docmill.understanding.constraints.address_features import is_name
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import Finding
from docmill.understanding.page.layout import Segment, Span
from docmill.understanding.text.folding import alternatives, fold
from docmill.understanding.text.legal_forms import legal_form_end

_PATHS = ("first_party.name", "second_party.name")
_LONGEST = 320
"""Characters from the opening of the sentence to the second name."""
_LONGEST_NAME = 9
"""Words of a name."""
_LEGAL_FORM = 14
"""Characters behind a comma in which a legal form ends: `Oficinas do Tejo, Lda.`."""
_CLEAR, _LIKELY = 0.9, 0.7
"""Confidence in two names of which each has a clear end, and in others."""
_DELIMITER = re.compile(
    r"\s*[,;:(\"\u201e\u201c]|\s+[-\u2013\u2014]\s|(?<=\w{4})\.\s+(?=[A-Z\u00a7\d])|\.\s*$"
    r"|\n(?=[^\n,]*\d)"  # a line of an address
)
_AFTER_FORM = re.compile(r"\s+[A-Z\u00c0-\u00de\d]")
"""Text behind a legal form that is no part of the name."""


class _Name:
    """A name that begins at `start` of a sentence. is_clear: the text after it cannot belong to the name."""

    def __init__(self, sentence: str, start: int, patterns: Mapping[str, re.Pattern[str]]) -> None:
        address = patterns["address"].match(fold(sentence), start)
        self.start = address.end() if address else start
        ends = [_DELIMITER.search(sentence, self.start), patterns["end"].search(fold(sentence), self.start)]
        stop = min((match.start() for match in ends if match), default=len(sentence))
        if not legal_form_end(sentence[self.start : stop]) and sentence[stop : stop + 1] == ",":
            longer = legal_form_end(sentence[self.start : stop + _LEGAL_FORM])
            stop = max(stop, self.start + longer)
        form = legal_form_end(sentence[self.start : stop])
        if form and _AFTER_FORM.match(sentence[:stop], self.start + form):
            stop = self.start + form
        self.stop = self.start + len(sentence[self.start : stop].rstrip())
        has_legal_form = bool(legal_form_end(sentence[self.start : self.stop]))
        if has_legal_form and sentence[self.stop : self.stop + 1] == ".":  # of an abbreviation
            self.stop += 1
        self.text = " ".join(sentence[self.start : self.stop].split())
        self.is_clear = has_legal_form or self.stop < len(sentence.rstrip())

    @property
    def is_plausible(self) -> bool:
        """Return True if it looks like the name of a person or business."""
        is_short = 0 < len(self.text.split()) <= _LONGEST_NAME
        return is_short and self.text[0].isupper() and is_name(self.text)


def agreement_parties(candidates: Candidates, kind: DocumentType) -> Iterator[tuple[str, Finding]]:
    """Find the two parties in the first sentence of the first page that names two.

    The words of such sentences are those of the document type.
    """
    if not DEFINITIONS[kind].words.sentences:
        return
    segments = [segment for segment in candidates.layout.segments if segment.page_index == 0]
    text = "\n".join(segment.text for segment in segments)
    patterns = _patterns(kind)
    for opening in patterns["opening"].finditer(fold(text)):
        sentence = text[: opening.end() + _LONGEST]
        pairs = list(_pairs(sentence, opening.end(), patterns))
        if pairs:
            names = max(pairs, key=lambda pair: sum(name.is_clear for name in pair))
            belief = _CLEAR if all(name.is_clear for name in names) else _LIKELY
            for path, name in zip(_PATHS, names, strict=True):
                yield path, Finding(name.text, _spans(segments, name), belief, named=1.0)
            return


def _pairs(
    sentence: str, start: int, patterns: Mapping[str, re.Pattern[str]]
) -> Iterator[tuple[_Name, _Name]]:
    """Yield the names before and after each word that may join two parties."""
    for joint in patterns["joining"].finditer(fold(sentence), start):
        first = _Name(sentence[: joint.start()], start, patterns)
        second = _Name(sentence, joint.end(), patterns)
        if first.is_plausible and second.is_plausible:
            yield first, second


def _spans(segments: Sequence[Segment], name: _Name) -> tuple[Span, ...]:
    """The places of a name in the text of the segments, which are joined by one character."""
    starts = accumulate((len(segment.text) + 1 for segment in segments), initial=0)
    return tuple(
        Span(segment, max(0, name.start - start), min(len(segment.text), name.stop - start))
        for segment, start in zip(segments, starts, strict=False)
        if start < name.stop and name.start < start + len(segment.text)
    )


@cache
def _patterns(kind: DocumentType) -> Mapping[str, re.Pattern[str]]:
    """Regular expressions for the words of such sentences, by their role; see `TypeWords`."""
    tails = {"opening": r"\s*[:,]?\s+", "joining": r"\s+", "end": "", "address": r"\s+"}
    patterns: dict[str, re.Pattern[str]] = {}
    for role, words in DEFINITIONS[kind].words.sentences.items():
        phrases = alternatives(fold(phrase) for each in words.values() for phrase in each)
        patterns[role] = re.compile(rf"(?<!\w)(?:{phrases})(?!\w){tails[role]}")
    return patterns
