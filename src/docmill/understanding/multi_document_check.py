"""Whether a file holds several documents, whose values may then have come together."""

from collections.abc import Callable, Sequence

from docmill.model.document import Document
from docmill.model.result import Extraction, Failure

CHECK = "several_documents"
_MOST_PAGES = 100
"""Of longer ones nobody expects one set of values, and looking takes long."""


def check_for_several(
    document: Document, found: Extraction, sections: Callable[[Document], Sequence[range]]
) -> Extraction:
    """The extraction, with a failure if its values may be of different documents in one file.

    sections: the page numbers of each document within, such as `docmill.sections.splitting.sections`.
    """
    if not found.evidence or document.parts or document.embedded:
        return found
    if not 1 < len(document.pages) <= _MOST_PAGES:
        return found
    parts = sections(document)
    if len(parts) == 1:
        return found
    begins = ", ".join(str(part.start) for part in parts)
    message = (
        f"This file seems to hold {len(parts)} documents, which begin on pages {begins}: its values may "
        "be of different ones. Add them one by one, or have files split (setting reading.split)."
    )
    told = Failure(check=CHECK, message=message)
    return found.model_copy(update={"failures": (*found.failures, told)})
