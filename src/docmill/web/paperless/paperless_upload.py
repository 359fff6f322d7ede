"""Uploads as devices for paperless-ngx send them: one file with its title, date and tags."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

from starlette.requests import Request

from docmill.errors import ValidationError
from docmill.sections.serial_numbers import parse_serial_number
from docmill.service.intake.accept import Accepted
from docmill.service.paperless.carry_over import CarryOver, Metadata, facts_note, key_of
from docmill.service.store import ingestions, tags
from docmill.service.tagging import Tagging
from docmill.web.access import FORM_TOKEN, check_form_token
from docmill.web.context import Vault
from docmill.web.paperless.paperless_shapes import day_of, number_of, number_of_type
from docmill.web.uploads import FilePart, read_parts

_FIELDS = ("title", "created", "tags", "document_type", "archive_serial_number", FORM_TOKEN)
_MOST_TAGS = 100


@dataclass(slots=True)
class _Fields:
    """The fields of the form that are heeded, as they were sent; they may come after the file."""

    title: str = ""
    created: str = ""
    document_type: str = ""
    archive_serial_number: str = ""
    tags: list[str] = field(default_factory=list[str])


async def receive_document(request: Request, vault: Vault) -> UUID:
    """Take in the document of a form, with its metadata; the ingestion that reads it, or has read it.

    Raises ValidationError for a form without a file, and what `Intake.accept` raises.
    """
    fields, accepted = _Fields(), None
    async for part in read_parts(request, fields=_FIELDS):
        if isinstance(part, FilePart):
            if accepted is None:
                check_form_token(request, "")
                accepted = await _accept(part, vault)
        elif part.name == FORM_TOKEN:
            check_form_token(request, part.value)
            request.state.form_secret = None
        elif part.name == "tags":
            fields.tags = [*fields.tags, part.value][:_MOST_TAGS]
        else:
            setattr(fields, part.name, part.value)
    if accepted is None:
        raise ValidationError("the form holds no file; send it in the field 'document'")
    vault.metrics.upload_ended("accepted" if accepted.is_new else "already_here")
    vault.audit_details["files"] = 1
    await _carry_over(accepted.document_id, fields, vault)
    if accepted.ingestion_id is not None:
        return accepted.ingestion_id
    async with vault.connection() as conn:
        newest = await ingestions.newest_id(conn, accepted.document_id)
    assert newest is not None, "a document has been read if no ingestion has begun"
    return newest


async def _accept(part: FilePart, vault: Vault) -> Accepted:
    return await vault.service.intake.accept(
        part.chunks, tenant_id=vault.tenant_id, file_name=part.file_name, uploaded_by=vault.user_id
    )


async def _carry_over(document_id: UUID, fields: _Fields, vault: Vault) -> None:
    facts = {"Document type": _type_named(fields.document_type, vault)}
    number = parse_serial_number(fields.archive_serial_number)
    if number is None:
        facts["Archive serial number"] = fields.archive_serial_number
    notes = ()
    if any(value.strip() for value in facts.values()):
        key = key_of("upload", *facts.values())
        notes = (facts_note(facts, source_key=key, created_at=datetime.now(UTC)),)
    metadata = Metadata(
        fields.title, day_of(fields.created), await _tag_names(fields.tags, vault), notes, number
    )
    service = vault.service
    carry_over = CarryOver(service.database, service.edits, Tagging(service.database, service.feed))
    await carry_over.apply(document_id, metadata, tenant_id=vault.tenant_id, user_id=vault.user_id)


async def _tag_names(sent: list[str], vault: Vault) -> tuple[str, ...]:
    """The names of the tags that were sent, as the numbers of `number_of` or as names.

    A number that is neither the number nor the name of a tag is left out: a device may remember the tags of
    the server that it used before, and its document is worth more than its tag.
    """
    if not sent:
        return ()
    async with vault.connection() as conn:
        rows = [row for row in await tags.every(conn) if row.removed_at is None]
    by_number = {str(number_of(row.id)): row.name for row in reversed(rows)}
    names = {row.name for row in rows}
    wanted = [by_number.get(text.strip(), text) for text in sent]
    return tuple(name for name in wanted if name in names or not name.strip().isdecimal())


def _type_named(sent: str, vault: Vault) -> str:
    """The name of a type that was sent as the number of `number_of_type`; empty for any other number."""
    types = {str(number_of_type(name)): name for name in vault.service.type_choices.types}
    return types.get(sent.strip(), "")
