"""The filters of the documents page: read from its address, shown as chips, and written into addresses."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from urllib.parse import urlencode
from uuid import UUID

from starlette.datastructures import QueryParams

from docmill.sections.serial_numbers import typed_serial_number
from docmill.service.meaning import SearchMode
from docmill.service.store.document_list import SORTS, SOURCES, Cursor, DocumentFilters
from docmill.web.languages import amount_text, day_text, gettext, gettext_noop
from docmill.web.view.words import STATES, type_name

LONGEST_QUERY = 200
_LONGEST_NAME = 100
_MOST_TAGS = 10
_LENGTH_OF_ID = 36
_OF_API = {
    "type": "document_type",
    "from": "date_from",
    "to": "date_to",
    "min": "amount_from",
    "max": "amount_to",
}
"""The parameters of the API that have other names than those of the page."""
SORT_NAMES = {
    "newest": gettext_noop("Newest first"),
    "date": gettext_noop("Date, latest first"),
    "amount": gettext_noop("Amount, highest first"),
    "counterparty": gettext_noop("Counterparty, A to Z"),
    "relevance": gettext_noop("Best match first"),
}
SEARCH_NAMES: Mapping[SearchMode, str] = {
    "both": gettext_noop("Words and meaning"),
    "text": gettext_noop("Words"),
    "meaning": gettext_noop("Meaning"),
}
SOURCE_NAMES = {"upload": gettext_noop("Came by itself"), "part": gettext_noop("Part of another file")}
NO_SOURCES: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter that is on. without: the address without it."""

    name: str
    without: str


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters, the order and the place in the list that an address names. Unknown values are ignored.

    asn_refused: what was typed for an archive serial number and is none, to be told.
    source: one of `SOURCES`, or the id of a source, with its name.
    """

    query: str = ""
    state: str = ""
    document_type: str = ""
    tags: tuple[str, ...] = ()
    counterparty: str = ""
    date_from: date | None = None
    date_to: date | None = None
    amount_from: Decimal | None = None
    amount_to: Decimal | None = None
    asn: int | None = None
    asn_refused: str = ""
    source: str = ""
    source_name: str = ""
    by: SearchMode = "both"
    sort: str = ""
    after: Cursor | None = None

    @classmethod
    def of(
        cls, params: QueryParams, *, types: Collection[str], sources: Mapping[str, str] = NO_SOURCES
    ) -> "Filters":
        """Read the filters from an address. types: that documents can have. sources: names, by the id."""
        source = params.get("source", "")
        tags = [_line(tag) for tag in params.getlist("tag")]
        asn_typed = _line(params.get("asn", ""))
        asn = typed_serial_number(asn_typed)
        return cls(
            query=params.get("q", "").strip()[:LONGEST_QUERY],
            state=_known(params.get("state", ""), STATES),
            document_type=_known(params.get("type", ""), types),
            tags=tuple(dict.fromkeys(filter(None, tags)))[:_MOST_TAGS],
            counterparty=_line(params.get("counterparty", "")),
            date_from=parse_day(params.get("from", "")),
            date_to=parse_day(params.get("to", "")),
            amount_from=parse_amount(params.get("min", "")),
            amount_to=parse_amount(params.get("max", "")),
            asn=asn,
            asn_refused=asn_typed if asn is None else "",
            source=source if parse_source_id(source) else _known(source, SOURCES),
            source_name=sources.get(source, ""),
            by=_search_mode(params.get("by")),
            sort=_known(params.get("sort", ""), SORTS),
            after=Cursor.parse(params.get("after", "")),
        )

    @property
    def are_set(self) -> bool:
        """True if any filter is on; an order is none."""
        return replace(self, asn_refused="", by="both", sort="", after=None) != Filters()

    @property
    def criteria(self) -> DocumentFilters:
        """The filters as the database takes them."""
        return DocumentFilters(
            query=self.query or None,
            state=self.state or None,
            document_type=self.document_type or None,
            tags=self.tags,
            counterparty=self.counterparty or None,
            date_from=self.date_from,
            date_to=self.date_to,
            amount_from=self.amount_from,
            amount_to=self.amount_to,
            asn_from=self.asn,
            asn_to=self.asn,
            source=_known(self.source, SOURCES) or None,
            from_source=parse_source_id(self.source),
        )

    @property
    def chips(self) -> list[Chip]:
        """The filters that are on, each with the address without it."""
        named: list[tuple[str, Filters]] = []
        if self.query:
            quoted = self.query if '"' in self.query else f"“{self.query}”"
            named.append((quoted, replace(self, query="")))
        if self.state:
            named.append((gettext(STATES[self.state].name), replace(self, state="")))
        if self.document_type:
            named.append((type_name(self.document_type), replace(self, document_type="")))
        for tag in self.tags:
            others = tuple(other for other in self.tags if other != tag)
            named.append((gettext("Tag: %(name)s", name=tag), replace(self, tags=others)))
        counterparty = gettext("Counterparty: %(name)s", name=self.counterparty)
        number = gettext("Archive serial number: %(number)s", number=self.asn)
        single = [
            (bool(self.counterparty), counterparty, replace(self, counterparty="")),
            (self.asn is not None, number, replace(self, asn=None)),
        ]
        named += [(name, without) for is_on, name, without in single if is_on]
        days = _range(day_text(self.date_from), day_text(self.date_to))
        amounts = _range(_amount(self.amount_from), _amount(self.amount_to))
        if days:
            named.append(
                (gettext("Date: %(range)s", range=days), replace(self, date_from=None, date_to=None))
            )
        if amounts:
            named.append(
                (gettext("Amount: %(range)s", range=amounts), replace(self, amount_from=None, amount_to=None))
            )
        if self.source:
            if self.source in SOURCE_NAMES:
                name = gettext(SOURCE_NAMES[self.source])
            else:
                name = gettext("Source: %(name)s", name=self.source_name or self.source)
            named.append((name, replace(self, source="", source_name="")))
        return [Chip(name, without.link()) for name, without in named]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The filters and the order as they stand in an address."""
        pairs = [
            ("q", self.query),
            ("state", self.state),
            ("type", self.document_type),
            *(("tag", tag) for tag in self.tags),
            ("counterparty", self.counterparty),
            ("from", str(self.date_from or "")),
            ("to", str(self.date_to or "")),
            ("min", "" if self.amount_from is None else f"{self.amount_from:f}"),
            ("max", "" if self.amount_to is None else f"{self.amount_to:f}"),
            ("asn", "" if self.asn is None else str(self.asn)),
            ("source", self.source),
            ("by", self.by if self.query and self.by != "both" else ""),
            ("sort", self.sort),
        ]
        return [(key, value) for key, value in pairs if value]

    def export_link(self, name: str) -> str:
        """The address of the exported file `name` of all documents that pass these filters."""
        pairs = [(_OF_API.get(key, key), value) for key, value in self.pairs if key not in ("by", "sort")]
        if self.query:
            pairs.append(("by", self.by))
        return f"/api/v1/exports/{name}?" + urlencode(pairs)

    def sorted_link(self, sort: str) -> str:
        """The address with these filters in another order."""
        return replace(self, sort=sort).link()

    def link(self, after: Cursor | None = None) -> str:
        """The address with these filters: the first page, or the one behind a place."""
        return "/?" + urlencode([*self.pairs, *([("after", after.text)] if after else [])])


def parse_source_id(text: str) -> UUID | None:
    """The id, as a field for sources sends it; None for whatever else."""
    try:
        return UUID(text) if len(text) == _LENGTH_OF_ID else None
    except ValueError:
        return None


def parse_day(text: str) -> date | None:
    """The day, as a field for dates sends it; None for whatever else."""
    try:
        return date.fromisoformat(text) if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text) else None
    except ValueError:
        return None


def parse_amount(text: str) -> Decimal | None:
    """The amount in any notation, `1.234,50` or `1,234.50`; None for what is none, or has too many digits."""
    plain = re.sub(r"[\s'\u2019]", "", text)
    last = max(plain.rfind("."), plain.rfind(","))
    if last >= 0 and len(plain) - last - 1 != 3:  # noqa: PLR2004  three digits behind a mark are thousands
        whole, mark, cents = re.sub("[.,]", "", plain[:last]), ".", plain[last + 1 :]
    else:
        whole, mark, cents = re.sub("[.,]", "", plain), "", ""
    amount = f"{whole}{mark}{cents}"
    return Decimal(amount) if re.fullmatch(r"-?[0-9]{1,15}(\.[0-9]{0,4})?", amount) else None


def _search_mode(value: str | None) -> SearchMode:
    modes: dict[str, SearchMode] = {mode: mode for mode in SEARCH_NAMES}
    return modes.get(value or "", "both")


def _known(value: str, values: Collection[str]) -> str:
    return value if value in values else ""


def _line(text: str) -> str:
    """A name in one line, without what cannot be printed."""
    return "".join(filter(str.isprintable, text)).strip()[:_LONGEST_NAME]


def _amount(amount: Decimal | None) -> str:
    return "" if amount is None else amount_text(amount)


def _range(first: str, last: str) -> str:
    if first == last:
        return first
    if not first:
        return gettext("up to %(last)s", last=last)
    return (
        gettext("%(first)s to %(last)s", first=first, last=last)
        if last
        else gettext("from %(first)s", first=first)
    )


def sort_choices(filters: Filters) -> Sequence[tuple[str, str]]:
    """The orders that a person can choose: by relevance only where there is something to be relevant to."""
    return [(key, name) for key, name in SORT_NAMES.items() if key != "relevance" or filters.query]
