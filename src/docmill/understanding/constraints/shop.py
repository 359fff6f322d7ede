"""Who gave a receipt: the name at its head and the address below it."""

import re
from collections.abc import Iterator, Sequence

from docmill.understanding.constraints.address_features import Lettering, legal_form_end, lettering
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import Finding, cleaned, probabilities
from docmill.understanding.page.layout import Span
from docmill.understanding.page.titles import is_title
from docmill.understanding.vocabulary import LANGUAGES, Concept

_HEAD_LINES = 20
_NAME_LINES = 14
_LONGEST_ADDRESS = 8
_NULL = 0.0
_SHORT_NAME = 9
_REGISTRATION_TAIL = re.compile(
    r"[\s,]*[(\[{]?\s*(?:co\.?\s?(?:reg\.?)?\s*(?:no)?\.?\s*[:.]?\s*|reg\.?\s*(?:no)?\.?\s*:?\s*|roc\s*(?:no)?\s*:?\s*)?"
    r"(?<![a-z])[a-z]{0,3}\d[\d ]{4,12}\s?-?\s?[a-z0-9]?\s*[)\]}]?\W*$",
    re.IGNORECASE,
)
_GREETINGS = "|".join(re.escape(phrase) for language in LANGUAGES for phrase in language.greetings)
_HEAD_NOISE = re.compile(rf"^(?:{_GREETINGS}|\W)+\s*", re.IGNORECASE)


def shop(candidates: Candidates) -> Iterator[tuple[str, Finding]]:
    """`seller.name` and `seller.address` of a receipt."""
    if not candidates.layout.sheets:
        return
    segments = [one for one in candidates.layout.sheets[0].segments if one.line < _HEAD_LINES]
    head = [lettering(candidates, segment) for segment in segments]
    name = _name(head, plain=candidates.plain)
    if name is not None:
        yield "seller.name", name
    taken = {span.segment.index for span in name.spans} if name else set[int]()
    address = _address(candidates, [one for one in head if one.segment.index not in taken])
    if address is not None:
        yield "seller.address", address


def trimmed(text: str) -> tuple[int, int]:
    """Where the name in a line begins and ends: without greetings and registration numbers."""
    start = match.end() if (match := _HEAD_NOISE.match(text)) else 0
    legal = legal_form_end(text)
    tail = text[legal:]
    if legal and (any(map(str.isdecimal, tail)) or not any(map(str.isalnum, tail))):
        return start, legal
    match = _REGISTRATION_TAIL.search(text)
    stop = match.start() if match and match.start() > start else len(text)
    return start, stop


def _name(head: Sequence[Lettering], *, plain: bool) -> Finding | None:
    options: list[tuple[float, tuple[Span, ...], str]] = []
    for index, one in enumerate(head[:_NAME_LINES]):
        if not one.name_like or is_title(one.segment.text):
            continue
        start, stop = trimmed(one.segment.text)
        own = Span(one.segment, start, stop)
        options.append((_name_score(one, index), (own,), own.text))
        if index and _continues(head[index - 1], one):
            before = head[index - 1]
            first = Span(before.segment, trimmed(before.segment.text)[0], len(before.segment.text))
            options.append((_name_score(one, index) + 0.6, (first, own), f"{first.text} {own.text}"))
    if not options:
        return None
    options.sort(key=lambda option: -option[0])
    share = probabilities([score for score, *_ in options], null=_NULL)[0]
    return Finding(cleaned(options[0][2], plain=plain), options[0][1], share)


def _name_score(one: Lettering, index: int) -> float:
    score = 3.0 - 0.35 * index
    score += 3.2 * bool(one.legal) + 0.6 * one.firm
    score -= 1.6 * one.address * (not one.legal) + 2.0 * (one.postcode or one.region) * (not one.legal)
    score -= 4.0 * one.label
    if one.letters < 5:  # noqa: PLR2004 - too short for most names
        score -= 1.5
    if one.segment.confidence < 0.75:  # noqa: PLR2004 - logos are often misread
        score -= 1.0
    if one.segment.text.islower():
        score -= 1.5
    return score


def _continues(before: Lettering, one: Lettering) -> bool:
    """Whether a name began on the line before: this one is little more than a legal form."""
    if not one.legal or not before.name_like or before.legal:
        return False
    rest = one.segment.text[: one.legal]
    return len(rest.replace(" ", "")) <= _SHORT_NAME or before.segment.text.rstrip().endswith(("&", "-", ","))


def _address(candidates: Candidates, head: Sequence[Lettering]) -> Finding | None:
    """The run of lines with the most signs of an address."""
    scores = [_line_score(head, index) for index in range(len(head))]
    runs = [
        (sum(scores[start:stop]), start, stop)
        for start in range(len(head))
        for stop in range(start + 1, min(len(head), start + _LONGEST_ADDRESS) + 1)
        if scores[start] > -1 and scores[stop - 1] > -1
    ]
    runs = [run for run in runs if run[0] > _NULL]
    if not runs:
        return None
    runs.sort(key=lambda run: (-run[0], run[1]))
    score, start, stop = runs[0]
    spans = [_address_span(candidates, one) for one in head[start:stop]]
    spans = [span for span in spans if span.text.strip()]
    text = cleaned(" ".join(span.text for span in spans), plain=candidates.plain)
    rivals = [run[0] for run in runs[1:6]]
    share = probabilities([score, *rivals], null=_NULL)[0]
    return Finding(text, tuple(spans), share) if text else None


def _line_score(head: Sequence[Lettering], index: int) -> float:
    one = head[index]
    score = (-0.5 if one.name_like else -0.9) + one.address + 1.5 * one.postcode + 1.3 * one.region
    score -= 4.0 * (one.value or one.registration) + 3.0 * (one.contact and not one.address) + 4.0 * one.label
    score -= 2.5 * bool(one.legal)
    text = one.segment.text.rstrip()
    score += 0.5 * text.endswith(",") + 0.3 * ("," in text[:-1])
    if index and head[index - 1].segment.text.rstrip().endswith(","):
        score += 0.9
    if not one.letters and not one.postcode:
        score -= 2
    return score - 0.05 * index


def _address_span(candidates: Candidates, one: Lettering) -> Span:
    """The line without the label before the address and the telephone after it."""
    start, stop = 0, len(one.segment.text)
    for label in candidates.labels(one.segment):
        if Concept.ADDRESS in label.meanings and label.start == start:
            start = label.stop
        if Concept.PHONE in label.meanings and label.start > start:
            stop = min(stop, label.start)
    text = one.segment.text[start:stop]
    start += len(text) - len(text.lstrip(" :.-"))
    return Span(
        one.segment,
        start,
        start + len(one.segment.text[start:stop].rstrip(" ,(")) if stop < len(one.segment.text) else stop,
    )
