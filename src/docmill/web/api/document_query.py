"""The parameters of the list of documents and of exports."""

from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from docmill.schemas.document_types import DocumentType
from docmill.service.meaning import SearchMode
from docmill.service.store.document_list import Cursor, DocumentFilters
from docmill.web.api.shapes import IsoDate, SerialNumber, State

_MOST_IDS = 1000
_Amount = Annotated[Decimal, Field(max_digits=17, decimal_places=4, allow_inf_nan=False)]


def _check_place(after: str | None) -> str | None:
    if after is not None and Cursor.parse(after) is None:
        raise ValueError("this is no place in a list; follow the `next` of an answer")
    return after


class FilterQuery(BaseModel):
    """Filters of documents. All of them hold together."""

    model_config = ConfigDict(frozen=True)

    q: Annotated[
        str | None,
        Field(
            max_length=200,
            description="words of the title, file name, values, tags or text; a phrase in quotation marks,"
            " a word with a minus to leave out, an amount, a day, an IBAN or a code in any notation",
        ),
    ] = None
    state: State | Literal["not_read", "rejected"] | None = None
    document_type: Annotated[str | None, Field(max_length=200)] = None
    tag: Annotated[
        list[Annotated[str, Field(max_length=200)]],
        Field(max_length=10, description="the name of a tag; of several, a document has all"),
    ] = []
    counterparty: Annotated[str | None, Field(max_length=200, description="a part of the name")] = None
    date_from: Annotated[IsoDate | None, Field(description="the first `document_date`")] = None
    date_to: Annotated[IsoDate | None, Field(description="the last `document_date`")] = None
    amount_from: Annotated[_Amount | None, Field(description="the lowest amount")] = None
    amount_to: Annotated[_Amount | None, Field(description="the highest amount")] = None
    asn: Annotated[SerialNumber | None, Field(description="the archive serial number")] = None
    asn_from: Annotated[SerialNumber | None, Field(description="the lowest archive serial number")] = None
    asn_to: Annotated[SerialNumber | None, Field(description="the highest archive serial number")] = None
    has_asn: Annotated[bool | None, Field(description="whether there is an archive serial number")] = None
    source: Annotated[
        Literal["upload", "part"] | UUID | None,
        Field(description="came by itself, or as a part of another file; or the id of a source"),
    ] = None
    parts: Annotated[bool, Field(description="also parts of other documents")] = True
    by: Annotated[
        SearchMode,
        Field(
            description="whether `q` is looked for by its words, by its meaning, or both: then what has the"
            " words stands before what means the like. By meaning the best 200 or so are found"
        ),
    ] = "text"

    @property
    def filters(self) -> DocumentFilters:
        """The filters as the database takes them."""
        return DocumentFilters(
            query=self.q or None,
            state=self.state,
            document_type=self.document_type,
            tags=tuple(self.tag),
            counterparty=self.counterparty or None,
            date_from=self.date_from,
            date_to=self.date_to,
            amount_from=self.amount_from,
            amount_to=self.amount_to,
            asn_from=self.asn_from if self.asn is None else self.asn,
            asn_to=self.asn_to if self.asn is None else self.asn,
            has_asn=self.has_asn,
            source=None if isinstance(self.source, UUID) else self.source,
            from_source=self.source if isinstance(self.source, UUID) else None,
            parts=self.parts,
        )


class DocumentQuery(FilterQuery):
    """Filters, order and place of a list of documents."""

    document_type: DocumentType | None = None
    sort: Annotated[
        Literal["newest", "date", "amount", "counterparty", "relevance"] | None,
        Field(description="by relevance unless given where there is a `q`, else the newest first"),
    ] = None
    after: Annotated[
        str | None,
        AfterValidator(_check_place),
        Field(max_length=1000, description="the place where the page before this one ended"),
    ] = None
    limit: Annotated[int, Field(ge=1, le=200)] = 50


class ExportQuery(FilterQuery):
    """The documents to take out."""

    id: Annotated[list[UUID], Field(max_length=_MOST_IDS, description="only these documents")] = []

    @property
    def selection(self) -> DocumentFilters:
        """The filters with the ids, as the database takes them."""
        return replace(self.filters, ids=tuple(self.id) or None)
