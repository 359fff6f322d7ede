"""Builds the cards of the documents page."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any, cast
from uuid import UUID

from docmill.errors import EncryptedError
from docmill.schemas.document_types import DEFINITIONS, known_type
from docmill.service.search.snippets import Snippet
from docmill.service.store.documents import DocumentRow
from docmill.service.store.parts import WholeRow
from docmill.understanding.types.summary import MAILS
from docmill.web.languages import amount_text, day_text, gettext, number_text
from docmill.web.view.messages import told
from docmill.web.view.words import RETRIES, STATES, StateWords, sentence, step_name, type_name

THUMBNAIL_PX = 400
_TOTAL, _NET = "gross_total", "net_total"
_AMOUNTS = (_TOTAL, "amount_due", *(each.amount for each in DEFINITIONS.values() if each.amount), _NET)
_MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Money:
    """An amount as shown. currency: empty if the document names none."""

    amount: str
    currency: str


@dataclass(frozen=True, slots=True)
class Card:
    """The content of a card.

    vendor: leads the card where the title names it; title: what is left of it, or the whole.
    reason: why a person should look, the current step, or why a file is kept and not read. thumbnail: address
    of a picture of page 1, None where none can be made. retry: label of the button, None without one.
    idle_minutes: since the last progress; is_waiting: no worker has it now; is_blank: nothing is known of it
    yet. whole: the document that holds this one, None for one that came by itself. found: where a search
    found it in its text. is_similar: whether it was found by its meaning, without the words.
    takes_password: whether one is missing.
    """

    id: UUID
    version: int
    state: str
    words: StateWords
    vendor: str
    title: str
    type_name: str
    date: str
    money: Money | None
    tags: Sequence[str]
    reason: str
    idle_minutes: int
    is_waiting: bool
    serial_number: int | None
    is_blank: bool
    progress_at: datetime | None
    thumbnail: str | None
    extension: str
    retry: str | None
    takes_password: bool
    whole: WholeRow | None
    found: Snippet | None
    is_similar: bool


def card(
    row: DocumentRow,
    failures: Sequence[str],
    *,
    picture: str | None,
    whole: WholeRow | None,
    now: datetime,
    found: Snippet | None = None,
    is_similar: bool = False,
) -> Card:
    """The card of a document.

    failures: the failed checks of its verdict, in words. picture: the version of the picture of page 1, None
    where none can be made. whole: the document that holds it. found: see `Card`.
    """
    progress_at = row.progress_at or row.updated_at
    vendor, rest = _vendor_and_rest(row)
    # Between two attempts a document keeps the type that the last attempt found.
    has_result = row.is_waiting and bool(row.error_message and row.document_type)
    is_locked = row.state == "failed" and row.error_code == EncryptedError.code
    return Card(
        id=row.id,
        version=row.version,
        state=row.state,
        words=STATES[row.outcome],
        vendor=vendor,
        title=rest,
        type_name=type_name(row.document_type),
        date=day_text(row.document_date),
        money=money(row.structured_data, row.document_type),
        tags=row.tags or (),
        reason=_reason(row, failures),
        idle_minutes=max(0, int((now - progress_at).total_seconds() // 60)),
        is_waiting=row.is_waiting,
        serial_number=row.archive_serial_number,
        is_blank=row.state == "processing" and not has_result,
        progress_at=progress_at,
        thumbnail=(
            f"/api/v1/documents/{row.id}/pages/1.webp?width={THUMBNAIL_PX}&v={picture}" if picture else None
        ),
        extension=extension(row.file_name),
        retry=None if is_locked else RETRIES.get(row.state),
        takes_password=is_locked and row.media_type not in MAILS,
        whole=whole,
        found=found,
        is_similar=is_similar,
    )


def title(row: DocumentRow) -> str:
    """Return the document's title, or its file name as long as it has none."""
    return row.title or row.file_name


def _vendor_and_rest(row: DocumentRow) -> tuple[str, str]:
    """The seller, and the title without it; no seller where the title does not end with it."""
    whole, seller = title(row), (row.structured_data or {}).get("seller")
    name = str(cast("dict[str, Any]", seller).get("name") or "") if isinstance(seller, dict) else ""
    rest = whole.removesuffix(name).rstrip(" ,") if name and whole.endswith(name) else ""
    return (name, rest) if rest else ("", whole)


def extension(file_name: str) -> str:
    """The file name's ending in capitals, shown where there is no picture."""
    ending = file_name.rpartition(".")[2] if "." in file_name else ""
    return ending.upper()[:5] or gettext("FILE")


def money(data: dict[str, Any] | None, document_type: str | None = None) -> Money | None:
    """The amount of `leading_amount` as a card shows it."""
    amount, currency = leading_amount(data, document_type)
    return None if amount is None else Money(amount_text(Decimal(amount)), currency or "")


def leading_amount(
    data: dict[str, Any] | None, document_type: str | None = None
) -> tuple[str | None, str | None]:
    """The first of `_AMOUNTS` that the data has, with its currency.

    Nothing stands for the total where the type must have one, or for a net total where there is a tax.
    """
    values = data or {}
    if _TOTAL in DEFINITIONS[known_type(document_type or "")].critical:
        names: Sequence[str] = (_TOTAL,)
    else:
        names = [name for name in _AMOUNTS if name != _NET or values.get("tax_total") is None]
    for name in names:
        try:
            amount = Decimal(str(values.get(name)))
        except InvalidOperation:
            continue
        return str(amount), values.get("currency")
    return None, None


def size(byte_size: int) -> str:
    """A file's size for people."""
    if byte_size < _MEGABYTE:
        return f"{max(1, round(byte_size / 1000))} KB"
    return f"{number_text(byte_size / _MEGABYTE, 1)} MB"


def _reason(row: DocumentRow, failures: Sequence[str]) -> str:
    match row.outcome:
        case "processing" if row.is_waiting and row.error_message:
            return gettext("Waiting to be tried again. %(reason)s", reason=_told(row.error_message))
        case "processing":
            return step_name(row.step)
        case "needs_classification":
            question = failures[0] if failures else ""
            return _told(row.error_message or question, gettext("Nobody could tell what this document is."))
        case "needs_review":
            return _told(failures[0] if failures else "", gettext("Some values should be checked."))
        case "failed":
            return _told(row.error_message, gettext("Processing failed."))
        case _:
            return _told(row.error_message or row.rejection, "")


def _told(message: str | None, otherwise: str = "") -> str:
    return sentence(told(message)) if message else otherwise
