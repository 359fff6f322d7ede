"""Which documents belong together."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from docmill import matching
from docmill.matching import records_of
from docmill.matching.outcome import Matching
from docmill.model.result import Result
from docmill.presentation.file_result import Extracted

if TYPE_CHECKING:
    from docmill.matching.match_record import MatchRecord


def match(
    documents: Mapping[str, Result | Extracted[Any]],
    *,
    confirmed: Iterable[tuple[str, str]] = (),
    declined: Iterable[tuple[str, str]] = (),
    aliases: Iterable[tuple[str, str]] = (),
) -> Matching:
    """Link the documents that belong together, by what was extracted from them; nothing is read or sent.

    documents: results of `process_file`, or of `extract` with a built-in type, by a name that is used in the
    result. Those of types that cannot be matched are passed over. The third transaction of a bank statement
    `may.xml` is `may.xml#3`. confirmed, declined: pairs of these names that a person has linked or parted.
    aliases: pairs of names that are one party. Raises DocumentError for decisions about what is not there.
    """
    records: list[MatchRecord] = []
    for name, document in documents.items():
        result = document.result if isinstance(document, Extracted) else document
        data = (
            document.data if isinstance(document, Extracted) else result.extraction and result.extraction.data
        )
        if data is not None:
            text = result.document.text if result.document else ""
            kind = result.classification.document_type
            records.extend(records_of(name, kind, data.model_dump(mode="json"), text))
    return matching.match(records, confirmed=confirmed, declined=declined, aliases=aliases)
