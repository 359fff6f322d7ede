"""Title, summary, date and tags of a document whose type is known."""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal

from docmill.model.document import Document
from docmill.model.paths import leaves
from docmill.model.result import Classification, Extraction
from docmill.schemas.document_types import DEFINITIONS, PATH_IN_BRACES, DocumentType, known_type
from docmill.schemas.registry import REGISTRY
from docmill.understanding.constraints.address_features import is_name
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import Finding, Findings
from docmill.understanding.page.layout import Layout
from docmill.understanding.text.dates import find_dates
from docmill.understanding.text.legal_forms import legal_form_end
from docmill.understanding.types.tags import LONGEST, choose_tags, is_same_tag, one_line, tags_in

MAILS = frozenset({"message/rfc822", "application/vnd.ms-outlook", "application/ms-tnef"})
DAYS = ("issue_date", "payment_date", "period_end", "delivery_date")
"""The fields with the document's date; the first that has a value counts."""
LONGEST_TITLE = 120
_SUBJECT, _DATE = "Subject:", "Date:"
_HEADS = ("From:", "To:", "Cc:", "Bcc:", _DATE, _SUBJECT)
"""The beginnings of the lines that reading sets above the text of a mail."""
_YEARS = range(1900, 2080)
"""Papers of an archive may be old; what is older or later is misread or made up."""
_WITHOUT_EVIDENCE = 1.0
"""Confidence of a value without evidence: it was computed, or is said by who sent the document."""
_TOP = 0.4
_LARGE = 1.35
"""A heading is so many times as high as the page's usual text."""
_ALIKE = 0.8
"""Height of the lines of one heading, as a share of the highest."""
_FEWEST_LETTERS = 4
_SURE_OF_NAME = 0.2
"""Least confidence of a name in a title."""
_TITLE_LINES = 3
_HEAD_SEGMENTS = 12
"""Segments at the top of a document in which tags are looked for."""


def describe_as_type(
    candidates: Candidates, document_type: DocumentType, findings: Findings, tags_in_use: Sequence[str]
) -> Classification:
    """Title, summary, date and tags of a document by the values found on its pages."""
    document, layout = candidates.layout.document, candidates.layout
    subject = _mail_line(document, _SUBJECT)
    is_other = document_type == "other"
    # On a statement, the date beside "Date" is that of its first booking.
    has_date = is_other or "issue_date" in REGISTRY[document_type].fields.model_fields
    own = {path: found for path, found in findings.items() if has_date or path != "issue_date"}
    day = _date_of(own) or (_date_at_head(candidates) if is_other else None)
    party = _counterparty(document_type, findings)
    texts = [segment.text for segment in layout.segments[:_HEAD_SEGMENTS]]
    texts += [text for text in (party, subject) if text]
    type_name = None if is_other else name_of(document_type)
    # A firm that the page names somewhere may be anybody: only the counterparty is a tag by its name.
    printed = [tag for tag in tags_in(texts, tags_in_use) if legal_form_end(tag) < len(tag)]
    tags = [*printed, party, type_name, str(day.year) if day else None]
    title = one_line(subject or _heading(layout) or "", LONGEST_TITLE)
    return Classification(
        document_type=document_type,
        title=title if is_other else _title(document_type, findings),
        summary=_summary(document_type, findings),
        document_date=day,
        tags=choose_tags(tags, tags_in_use),
    )


def describe(
    document: Document,
    classification: Classification,
    extraction: Extraction,
    tags_in_use: Sequence[str] = (),
) -> Classification:
    """The classification with title, summary, date and tags by the present values of the fields.

    What a language model or the document's own XML wrote stays. So do the texts of a type whose title names
    somebody whom no field names, and of a user's own schema, which has other fields.
    """
    document_type = known_type(extraction.document_type)
    fields = REGISTRY[document_type].fields
    is_described = classification.title is not None and classification.usage.model is None
    if (
        document_type != classification.document_type
        or not is_described
        or document.embedded
        or not isinstance(extraction.data, fields)
        or DEFINITIONS[document_type].counterparty.partition(".")[0] not in fields.model_fields
    ):
        return classification
    confidences = {path: evidence.confidence for path, evidence in extraction.evidence.items()}
    findings = {
        path: Finding(value, (), confidences.get(path, _WITHOUT_EVIDENCE))
        for path, value in leaves(extraction.data)
        if isinstance(value, str | date | Decimal)
    }
    day = _date_of(findings)
    return classification.model_copy(
        update={
            "title": _title(document_type, findings),
            "summary": _summary(document_type, findings),
            "document_date": day,
            "tags": _update_tags(classification, _counterparty(document_type, findings), day, tags_in_use),
        }
    )


def _update_tags(
    classification: Classification, party: str | None, day: date | None, tags_in_use: Sequence[str]
) -> Sequence[str]:
    """The tags of a classification with this counterparty and year in place of those it had."""
    tags = classification.tags
    party_before = one_line((classification.title or "").partition(", ")[2], LONGEST)
    if party_before is None or party_before in tags:
        tags = [party if tag == party_before else tag for tag in tags]
        tags = choose_tags([*tags, None if party_before else party], tags_in_use)
    day_before = classification.document_date
    if day != day_before:
        year, year_before = (str(each.year) if each else None for each in (day, day_before))
        tags = choose_tags([year if tag == year_before else tag for tag in tags] + [year])
    return tags


def change_type(classification: Classification, document_type: str) -> Classification:
    """The classification with the type that a person chose. The counterparty leaves title and tags.

    The new type may have another counterparty; `describe` fills it in later.
    """
    before, after = (
        name_of(known_type(name)) if known_type(name) == name != "other" else None
        for name in (classification.document_type, document_type)
    )
    party = one_line((classification.title or "").partition(", ")[2], LONGEST)
    gone = [name for name in (before, party if before is not None else None) if name is not None]
    tags = [tag for tag in classification.tags if not any(is_same_tag(tag, name) for name in gone)]
    changed = {
        "document_type": document_type,
        "title": after,
        "summary": None,
        "tags": choose_tags([*tags, after]),
    }
    return classification.model_copy(update=changed)


def name_of(document_type: DocumentType) -> str:
    """The type as it is called in titles, summaries and tags."""
    return DEFINITIONS[document_type].title or DEFINITIONS[document_type].label


def _title(document_type: DocumentType, findings: Findings) -> str | None:
    """Type, number or subject, and counterparty."""
    number = f" {findings['number'].value}" if "number" in findings else ""
    if not number and "subject" in findings:
        number = f": {str(findings['subject'].value).partition(',')[0]}"
    parts = [name_of(document_type) + number, _counterparty(document_type, findings)]
    return one_line(", ".join(filter(None, parts)), LONGEST_TITLE)


def _counterparty(document_type: DocumentType, findings: Findings) -> str | None:
    """The name that documents of the type are filed under; None if what was found is no name."""
    definition = DEFINITIONS[document_type]
    if definition.line_items == "bookings":
        return None  # the names on a bank statement are mostly those of its bookings
    party = findings.get(definition.counterparty)
    if party is None or party.probability < _SURE_OF_NAME or not is_name(str(party.value)):
        return None
    return str(party.value)


def _summary(document_type: DocumentType, findings: Findings) -> str | None:
    """One sentence by the templates of the type; None if nothing was found for it."""
    texts: Mapping[str, str] = {path: str(finding.value) for path, finding in findings.items()}
    parts: list[str] = []
    for template in DEFINITIONS[document_type].summary:
        first = PATH_IN_BRACES.findall(template)[0]
        if first in texts and (not first.endswith(".name") or is_name(texts[first])):
            part = PATH_IN_BRACES.sub(lambda path: texts.get(path[1], ""), template)
            parts.append(re.sub(r" +", " ", part).strip())
    return " ".join([name_of(document_type), *parts]).rstrip(".") + "." if parts else None


def _date_of(findings: Findings) -> date | None:
    days = (findings[path].value for path in DAYS if path in findings)
    return next((day for day in days if isinstance(day, date)), None)


def _date_at_head(candidates: Candidates) -> date | None:
    """The day on which a mail was sent, or the only date at the top of the first page."""
    sent = find_dates(_mail_line(candidates.layout.document, _DATE) or "")
    if sent:
        return sent[0].value(day_first=candidates.conventions.day_first)
    days = {
        candidate.value
        for candidate in candidates.dates
        if candidate.segment.page_index == 0 and candidate.segment.middle < _TOP
    }
    return days.pop() if len(days) == 1 else None


def plausible_day(day: date, document: Document) -> date | None:
    """`day` if it may be the document's date; with day and month swapped if the pages write them that way."""
    if day.year not in _YEARS:
        return None
    try:
        turned = date(day.year, day.day, day.month)
    except ValueError:
        return day
    candidates = candidates_of(document)
    dates = [written for of_segment in candidates.written_dates for written in of_segment]
    # Both orders are possible unless the document proves one.
    orders = [candidates.conventions.day_first] if candidates.conventions.has_date_order else [True, False]
    shown = {written.value(day_first=order) for written in dates for order in orders}
    return turned if turned in shown and day not in shown else day


def _mail_line(document: Document, head: str) -> str | None:
    """The text after `head` on the header lines of a mail."""
    if document.media_type not in MAILS:
        return None
    text = document.pages[0].text.lstrip()
    lines = text.splitlines() if text.startswith(_HEADS) else []
    line = next((line for line in lines if line.startswith(head)), "")
    return re.sub(r"\s+", " ", line.removeprefix(head)).strip() or None


def _heading(layout: Layout) -> str | None:
    """The large print at the top of the first page; None where none is larger than the rest."""
    sheet = layout.sheets[0]
    top = [
        segment
        for segment in sheet.segments
        if segment.middle < _TOP and sum(map(str.isalpha, segment.text)) >= _FEWEST_LETTERS
    ]
    height = max((segment.height for segment in top), default=0.0)
    if height < _LARGE * sheet.text_height:
        return None
    start = next(index for index, segment in enumerate(top) if segment.height >= _ALIKE * height)
    lines = [top[start]]
    for segment in top[start + 1 : start + _TITLE_LINES]:  # the lines of large print that follow at once
        if segment.height < _ALIKE * lines[0].height or segment.box.y0 - lines[-1].box.y1 > lines[0].height:
            break
        lines.append(segment)
    return " ".join(segment.text for segment in lines)
