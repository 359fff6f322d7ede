"""Filters and changes of documents as paperless-ngx's API has them."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from docmill.sections.serial_numbers import LARGEST_ASN
from docmill.service.store.document_list import DocumentFilters
from docmill.service.store.reviews import DATE, SERIAL_NUMBER, TITLE
from docmill.web.paperless.paperless_shapes import Json, day_of

_NAME = "archive_serial_number"
_PATHS = {"title": TITLE, "created_date": DATE, "created": DATE, _NAME: SERIAL_NUMBER}
_Number = Annotated[int | None, Field(ge=-1, le=LARGEST_ASN + 1)]


class SerialNumberQuery(BaseModel):
    """The filters for archive serial numbers. All of them hold together."""

    model_config = ConfigDict(frozen=True)

    exact: Annotated[_Number, Field(alias=_NAME)] = None
    above: Annotated[_Number, Field(alias=f"{_NAME}__gt")] = None
    least: Annotated[_Number, Field(alias=f"{_NAME}__gte")] = None
    below: Annotated[_Number, Field(alias=f"{_NAME}__lt")] = None
    most: Annotated[_Number, Field(alias=f"{_NAME}__lte")] = None
    is_missing: Annotated[bool | None, Field(alias=f"{_NAME}__isnull")] = None

    @property
    def filters(self) -> DocumentFilters:
        """The filters as the database takes them."""
        above = None if self.above is None else self.above + 1
        below = None if self.below is None else self.below - 1
        lowest = [number for number in (self.exact, self.least, above) if number is not None]
        highest = [number for number in (self.exact, self.most, below) if number is not None]
        return DocumentFilters(
            asn_from=max(lowest, default=None),
            asn_to=min(highest, default=None),
            has_asn=None if self.is_missing is None else not self.is_missing,
        )


class DocumentPatch(BaseModel):
    """A change of a document; what is not given stays. Clients may send members that they do not change."""

    model_config = ConfigDict(frozen=True, extra="allow")

    title: str | None = None
    created: str | None = None
    created_date: str | None = None
    archive_serial_number: int | None = None
    tags: list[int] | None = None

    def edits_of(self, answer: Json) -> dict[str, str | None]:
        """The edits by the path of their review; null is no date or number. answer: the document as it is."""
        edits: dict[str, str | None] = {}
        for name, path in _PATHS.items():
            sent = getattr(self, name)
            text = "" if sent is None else str(sent)
            if path == DATE and (day := day_of(text)) is not None:
                sent = text = day.isoformat()
            if name in self.model_fields_set and sent != answer[name]:
                edits[path] = text
        return edits

    def unsupported(self, answer: Json) -> list[str]:
        """The members that would change what is not changed here. answer: the document as it is."""
        sent: dict[str, Any] = self.model_extra or {}
        return [
            name for name, value in sent.items() if (value != answer[name] if name in answer else bool(value))
        ]
