"""Generated documents and the truth about which of them belong together."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import BaseModel

from docmill.matching.outcome import DiscrepancyCode, Relation


@dataclass(frozen=True, slots=True)
class GeneratedDocument:
    """A document as a tenant's vault has it. text: of all pages. vendor: the other side of its business."""

    id: str
    document_type: str
    data: BaseModel
    text: str
    vendor: str


@dataclass(frozen=True, slots=True)
class TrueLink:
    """Two records that belong together. A payment's id is `STATEMENT#n`, n its transaction's number from 1.

    edits: the names of the edits that were made to either record.
    """

    first_id: str
    second_id: str
    relation: Relation
    edits: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class TrueDiscrepancy:
    """A difference between linked records; its fields are those of `outcome.Discrepancy`.

    is_optional: people disagree whether it is one (a bank's fee, a part that is still to come): neither to
    name it nor to leave it out is wrong, on whichever line.
    """

    code: DiscrepancyCode
    record_id: str
    line: int | None = None
    expected: str = ""
    found: str = ""
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class Truth:
    """What is true of a set of documents.

    links: without duplicates. A link with a copy of a document is as right as one with the original.
    groups: the records that links and duplicates connect. duplicates: the earlier document comes first.
    decoys: the kind of each record that was made to look as if it belonged to others. undecidable: pairs of
    ids of the links to payments that cite nothing and would pay a decoy as well: nobody can tell.
    """

    links: tuple[TrueLink, ...]
    groups: tuple[frozenset[str], ...]
    duplicates: tuple[TrueLink, ...]
    discrepancies: tuple[TrueDiscrepancy, ...]
    decoys: Mapping[str, str] = field(default_factory=dict[str, str])
    undecidable: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class LabelledDocuments:
    """The documents of one tenant in no order, and their truth."""

    documents: tuple[GeneratedDocument, ...]
    truth: Truth
