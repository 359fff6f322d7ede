"""Title, summary, tags and date of a document as they follow from its reviewed values."""

import re

from docmill.model.result import Classification
from docmill.service.review.review import ReviewSession, shown
from docmill.service.store.reviews import NO_VALUES
from docmill.understanding.types.tags import without_doubted_parties

_SHORTEST = 3
"""Characters of a value whose place in a title is certain."""


def describe_reviewed(session: ReviewSession) -> Classification:
    """The description by the values as reviewed; as the result has it while nobody has reviewed one.

    Where the description is not made of the values (by a language model, by an XML, by a schema of the
    user's own), the corrected values in it are replaced.
    """
    read = Classification.model_validate(session.result.classification or {})
    if not session.has_reviewed_values:
        return read
    return without_doubted_parties(_describe(session, read), session.reviewed_extraction)


def _describe(session: ReviewSession, read: Classification) -> Classification:
    """The description by the values as reviewed. read: the description of the result."""
    if read.title == session.result.file_name:
        return read
    if session.document is not None:
        # The words of all languages take half a second to load, which a start can do without.
        from docmill.understanding.types.summary import describe  # noqa: PLC0415

        as_read = describe(session.document, read, session.machine_extraction)
        if as_read is not read and (as_read.title, as_read.summary) == (read.title, read.summary):
            return describe(session.document, read, session.reviewed_extraction)
    return _with_values_replaced(read, session)


def _with_values_replaced(read: Classification, session: ReviewSession) -> Classification:
    """The description with each corrected value in the place of the one that was read."""
    title, summary, tags = read.title, read.summary, list(read.tags)
    for path, review in session.current.items():
        before, after = shown(review.machine), shown(review.value)
        if path in NO_VALUES or before == after or len(before) < _SHORTEST:
            continue
        title, summary = (text and _replaced(text, before, after) for text in (title, summary))
        tags = [after if tag == before else tag for tag in tags]
    changed = {"title": title or read.title, "summary": summary, "tags": tuple(filter(None, tags))}
    return read.model_copy(update=changed)


def _replaced(text: str, before: str, after: str) -> str:
    """The text with a value in the place of another, or without it and the space or comma before it."""
    gap = "" if after else r"[\s,]*"
    return re.sub(rf"{gap}(?<!\w){re.escape(before)}(?!\w)", lambda _: after, text).strip(" ,")
