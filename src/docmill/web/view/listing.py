"""Filters of the documents page, and its links."""

from dataclasses import dataclass, replace
from urllib.parse import urlencode
from uuid import UUID

from docmill.web.view.words import STATES, TYPES

PAGE_SIZE = 24
_LONGEST_QUERY = 200


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter that is on. without: the address that turns it off."""

    name: str
    without: str


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters in the address. Unknown values are ignored."""

    query: str = ""
    state: str = ""
    document_type: str = ""
    after: UUID | None = None

    @classmethod
    def of(cls, query: str, state: str, document_type: str, after: str) -> "Filters":
        """The filters that the address names."""
        return cls(
            query=query.strip()[:_LONGEST_QUERY],
            state=state if state in STATES else "",
            document_type=document_type if document_type in TYPES else "",
            after=parsed_id(after),
        )

    @property
    def are_set(self) -> bool:
        """True if any filter is on."""
        return bool(self.query or self.state or self.document_type)

    @property
    def chips(self) -> list[Chip]:
        """The filters that are on, each with the way to turn it off."""
        chips: list[Chip] = []
        if self.query:
            chips.append(Chip(f"“{self.query}”", replace(self, query="").link()))
        if self.state:
            chips.append(Chip(STATES[self.state].name, replace(self, state="").link()))
        if self.document_type:
            chips.append(Chip(TYPES[self.document_type], replace(self, document_type="").link()))
        return chips

    def link(self, after: UUID | None = None) -> str:
        """The address with these filters: the first page, or the one after document `after`."""
        query = {"q": self.query, "state": self.state, "type": self.document_type, "after": str(after or "")}
        return "/?" + urlencode({key: value for key, value in query.items() if value})


def parsed_id(text: str) -> UUID | None:
    """The id that `text` is, or None."""
    try:
        return UUID(text)
    except ValueError:
        return None
