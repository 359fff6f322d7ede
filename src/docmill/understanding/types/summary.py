"""Title, summary, day and tags of a document whose type is known."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal

from docmill.model.document import Document
from docmill.model.paths import leaves
from docmill.model.result import Classification, Extraction
from docmill.schemas.document_types import DEFINITIONS, DocumentType, known_type
from docmill.schemas.registry import REGISTRY
from docmill.understanding.constraints.address_features import is_name
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import Finding
from docmill.understanding.page.layout import Layout, Segment
from docmill.understanding.text.dates import find_dates
from docmill.understanding.types.tags import LONGEST, chosen, one_line, said

MAILS = frozenset({"message/rfc822", "application/vnd.ms-outlook", "application/ms-tnef"})
DAYS = ("issue_date", "payment_date", "period_end", "delivery_date")
"""The dates of which one is that of the document, the first that is there."""
LONGEST_TITLE = 120
_PATH = re.compile(r"\{([\w.]+)\}")
_SUBJECT, _DATE = "Subject:", "Date:"
_HEADS = ("From:", "To:", "Cc:", "Bcc:", _DATE, _SUBJECT)
"""How the lines begin that reading sets above the text of a mail."""
_WITHOUT_EVIDENCE = 1.0
"""A value without evidence was computed, or is said by who sent the document."""
_TOP = 0.4
_LARGE = 1.35
"""Print this many times as high as the page's usual text is a title."""
_ALIKE = 0.8
"""How high the lines of one title are, compared with its highest."""
_LETTERS = 4
_SURE_OF_NAME = 0.2
"""A name less likely than that says less than none."""
_TITLE_LINES = 3
_HEAD = 12
"""So many stretches at the top of a document say what it is about."""


def title_of(
    document: Document, layout: Layout, kind: DocumentType, found: Mapping[str, Finding]
) -> str | None:
    """As `named`; what is of no type is called by its subject or heading."""
    if kind == "other":
        return one_line(subject(document) or heading(layout) or "", LONGEST_TITLE)
    return named(kind, found)


def named(kind: DocumentType, found: Mapping[str, Finding]) -> str | None:
    """Type, number and counterparty."""
    parts = [name_of(kind)]
    if "number" in found:
        parts[0] += f" {found['number'].value}"
    party = counterparty(kind, found)
    if party is not None:
        parts.append(party)
    return one_line(", ".join(parts), LONGEST_TITLE)


def name_of(kind: DocumentType) -> str:
    """The type as it is called in titles, summaries and tags."""
    return DEFINITIONS[kind].title or DEFINITIONS[kind].label


def counterparty(kind: DocumentType, found: Mapping[str, Finding]) -> str | None:
    """The name that documents of the type are filed under; None where what was found is no name."""
    party = found.get(DEFINITIONS[kind].counterparty)
    if party is None or party.probability < _SURE_OF_NAME or not is_name(str(party.value)):
        return None
    return str(party.value)


def subject(document: Document) -> str | None:
    """What the writer of a mail says that it is about."""
    return _line(document, _SUBJECT)


def _line(document: Document, head: str) -> str | None:
    """What stands behind `head` above the text of a mail."""
    if document.media_type not in MAILS:
        return None
    text = document.pages[0].text.lstrip()
    lines = text.splitlines() if text.startswith(_HEADS) else []
    found = next((line for line in lines if line.startswith(head)), "")
    return re.sub(r"\s+", " ", found.removeprefix(head)).strip() or None


def heading(layout: Layout) -> str | None:
    """The large print at the top of the first page; None where none is larger than the rest."""
    sheet = layout.sheets[0]
    top = [one for one in sheet.segments if one.middle < _TOP and _letters(one.text) >= _LETTERS]
    height = max((one.height for one in top), default=0.0)
    if height < _LARGE * sheet.text_height:
        return None
    first = next(one for one in top if one.height >= _ALIKE * height)
    return " ".join(one.text for one in _lines_of(first, top))


def _lines_of(first: Segment, top: Sequence[Segment]) -> Iterator[Segment]:
    """A title's lines: the first of large print and those like it that follow at once."""
    yield first
    last = first
    for one in top[top.index(first) + 1 :][: _TITLE_LINES - 1]:
        if one.height < _ALIKE * first.height or one.box.y0 - last.box.y1 > first.height:
            return
        yield one
        last = one


def summary_of(kind: DocumentType, found: Mapping[str, Finding]) -> str | None:
    """One sentence from what was found, or None if nothing was."""
    facts = {path: str(finding.value) for path, finding in found.items()}
    parts: list[str] = []
    for template in DEFINITIONS[kind].summary:
        first = _PATH.findall(template)[0]
        if first in facts and (not first.endswith(".name") or is_name(facts[first])):
            part = _PATH.sub(lambda path: facts.get(path[1], ""), template)
            parts.append(re.sub(r" +", " ", part).strip())
    return " ".join([name_of(kind), *parts]).rstrip(".") + "." if parts else None


def day_of(candidates: Candidates, kind: DocumentType, found: Mapping[str, Finding]) -> date | None:
    """When it was made out; of what is of no type, the one date at its head."""
    for path in DAYS:
        finding = found.get(path)
        if finding is not None and isinstance(finding.value, date):
            return finding.value
    if kind != "other":
        return None
    sent = find_dates(_line(candidates.layout.document, _DATE) or "")
    if sent:
        return sent[0].value(day_first=candidates.conventions.day_first)
    head = {
        one.value for one in candidates.dates if one.segment.page_index == 0 and one.segment.middle < _TOP
    }
    return head.pop() if len(head) == 1 else None


def tags_of(
    document: Document,
    layout: Layout,
    kind: DocumentType,
    found: Mapping[str, Finding],
    *,
    day: date | None,
    tags_in_use: Sequence[str],
) -> tuple[str, ...]:
    """Those in use that its head speaks of, then counterparty, type and year."""
    party = counterparty(kind, found)
    texts = [one.text for one in layout.segments[:_HEAD]]
    texts += [text for text in (party, subject(document)) if text]
    own = [party, None if kind == "other" else name_of(kind), str(day.year) if day else None]
    return chosen([*said(texts, tags_in_use), *own], tags_in_use)


def _letters(text: str) -> int:
    return sum(map(str.isalpha, text))


def describe(
    document: Document,
    classification: Classification,
    extraction: Extraction,
    tags_in_use: Sequence[str] = (),
) -> Classification:
    """Title, summary, day and tags that say what the fields say in the end; the type stays.

    What a language model called the document stays, and what its own XML calls it.
    """
    kind = known_type(extraction.document_type)
    told = classification.title is not None and classification.usage.model is None
    if kind != classification.document_type or not told or document.embedded:
        return classification
    fields = REGISTRY[kind].fields
    if not isinstance(extraction.data, fields):
        return classification  # a schema of the user's own has other fields
    if DEFINITIONS[kind].counterparty.partition(".")[0] not in fields.model_fields:
        return classification  # its title names somebody whom no field names
    found = {
        path: Finding(value, (), _confidence(extraction, path))
        for path, value in leaves(extraction.data)
        if isinstance(value, str | date | Decimal)
    }
    party = counterparty(kind, found)
    days = [one.value for path in DAYS if (one := found.get(path)) and isinstance(one.value, date)]
    return classification.model_copy(
        update={
            "title": named(kind, found),
            "summary": summary_of(kind, found),
            "document_date": days[0] if days else classification.document_date,
            "tags": _with_party(classification, party, tags_in_use),
        }
    )


def _confidence(extraction: Extraction, path: str) -> float:
    proof = extraction.evidence.get(path)
    return _WITHOUT_EVIDENCE if proof is None else proof.confidence


def _with_party(
    classification: Classification, party: str | None, tags_in_use: Sequence[str]
) -> tuple[str, ...]:
    """The tags, with this party in the place of the one in the title."""
    before = one_line((classification.title or "").partition(", ")[2], LONGEST)
    others = [tag for tag in classification.tags if tag != before]
    if party is None or len(others) == len(classification.tags):
        return classification.tags
    return chosen([party if tag == before else tag for tag in classification.tags], tags_in_use)
