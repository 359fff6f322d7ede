"""The manifest of an export of paperless-ngx, with its documents: whole or split, of any 1.x and 2.x."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Annotated, Any, cast

from pydantic import BaseModel, BeforeValidator, ValidationError

from docmill.errors import DocmillError
from docmill.service.paperless.export_files import MANIFEST, SPLIT_MANIFEST_END, ExportFiles, explained
from docmill.service.paperless.manifest_records import Record, read_records

_METADATA = ("metadata.json", "version.json")
"""Names of the file that has the version, the older one last."""
_LONGEST_METADATA = 1_000_000

NOT_IMPORTED = {
    "auth.group": "group",
    "auth.user": "user",
    "documents.savedview": "saved view",
    "documents.workflow": "workflow",
    "mfa.authenticator": "second factor",
    "paperless_mail.mailaccount": "mail account",
    "paperless_mail.mailrule": "mail rule",
    "socialaccount.socialaccount": "external account",
    "socialaccount.socialapp": "external sign-in",
    "socialaccount.socialtoken": "external token",
}
"""Names, in the singular, for objects that docmill does not take over, by their model."""

_USED = frozenset(
    {
        "auth.user",
        "documents.comment",
        "documents.correspondent",
        "documents.customfield",
        "documents.customfieldinstance",
        "documents.document",
        "documents.documenttype",
        "documents.note",
        "documents.storagepath",
        "documents.tag",
    }
)


@dataclass(frozen=True, slots=True)
class ExportedNote:
    """A note. author: the user's name, empty if unknown."""

    text: str
    author: str
    created_at: datetime | None


@dataclass(frozen=True, slots=True)
class ExportedDocument:
    """A document. file_name: of the original in the export. original_name: as it was uploaded, or empty.

    serial_number: its archive serial number. problem: why it cannot be imported. checksum: of the original,
    or empty.
    """

    pk: int
    file_name: str
    original_name: str
    title: str
    created: date | None
    added: datetime | None
    facts: Mapping[str, str]
    tags: tuple[str, ...]
    notes: tuple[ExportedNote, ...]
    serial_number: int | None = None
    problem: str = ""
    checksum: str = ""


@dataclass(slots=True)
class Manifest:
    """An export. tag_colors: by the names of tags. not_imported: counts by name. problems: of records.

    has_secrets: fields were encrypted with a passphrase; none of them is of a document.
    """

    version: str
    documents: list[ExportedDocument]
    tag_colors: Mapping[str, str]
    not_imported: Mapping[str, int]
    problems: list[str]
    has_secrets: bool


def _moment(value: object) -> object:
    """A moment or day; None for what is neither."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


_Moment = Annotated[datetime | None, BeforeValidator(_moment)]


class _Document(BaseModel):
    title: str = ""
    created: str | None = None
    added: _Moment = None
    deleted_at: _Moment = None
    archive_serial_number: int | None = None
    correspondent: int | None = None
    document_type: int | None = None
    storage_path: int | None = None
    original_filename: str | None = None
    checksum: str | None = None
    storage_type: str = "unencrypted"
    tags: list[int] = []


class _Note(BaseModel):
    document: int
    note: str = ""
    comment: str = ""
    created: _Moment = None
    user: int | None = None


class _FieldValue(BaseModel):
    document: int
    field: int
    value_text: str | None = None
    value_bool: bool | None = None
    value_url: str | None = None
    value_date: str | None = None
    value_int: int | None = None
    value_float: float | None = None
    value_monetary: str | None = None
    value_long_text: str | None = None
    value_document_ids: list[int] | None = None
    value_select: str | int | None = None


@dataclass(slots=True)
class _Tables:
    """The records by model and number, before they are put together."""

    records: dict[str, dict[int, Record]] = field(default_factory=dict[str, dict[int, Record]])
    counts: Counter[str] = field(default_factory=Counter[str])

    def add(self, record: Record) -> None:
        model, pk = str(record.get("model")), record.get("pk")
        self.counts[model] += 1
        if model in _USED and isinstance(pk, int) and isinstance(record.get("fields"), dict):
            self.records.setdefault(model, {})[pk] = record

    def fields(self, model: str) -> Iterator[tuple[int, Record]]:
        for pk, record in self.records.get(model, {}).items():
            yield pk, cast("Record", record["fields"])

    def text(self, model: str, pk: int | None, name: str = "name") -> str:
        """A member of a record; empty if there is no such record."""
        record = self.records.get(model, {}).get(pk if pk is not None else -1)
        return "" if record is None else str(record["fields"].get(name) or "")


def read_manifest(files: ExportFiles) -> Manifest:
    """Read all manifests of an export. Raises CorruptError if the main one cannot be read.

    What is wrong with single documents and other manifests is told in the result.
    """
    tables, problems = _Tables(), list[str]()
    _load(files, MANIFEST, tables)
    for name in files.names():
        if name.endswith(SPLIT_MANIFEST_END):
            try:
                _load(files, name, tables)
            except DocmillError as error:
                problems.append(error.message)
    version, has_secrets = _metadata(files)
    colors = {
        str(fields.get("name")): str(fields.get("color") or fields.get("colour") or "")
        for _, fields in tables.fields("documents.tag")
    }
    counts = {words: tables.counts[model] for model, words in NOT_IMPORTED.items() if tables.counts[model]}
    return Manifest(version, _documents(tables, problems), colors, counts, problems, has_secrets)


def _load(files: ExportFiles, name: str, tables: _Tables) -> None:
    with files.open(name) as file, explained(name):
        for record in read_records(file, name):
            tables.add(record)


def _metadata(files: ExportFiles) -> tuple[str, bool]:
    """The version of paperless-ngx, and whether a passphrase was given."""
    there = set(files.names())
    for name in _METADATA:
        if name in there:
            try:
                with files.open(name) as file, explained(name):
                    values: Any = json.loads(file.read(_LONGEST_METADATA))
            except (DocmillError, ValueError):
                continue
            if isinstance(values, dict):
                known = cast("Record", values)
                return str(known.get("version", "")), any("crypt" in key or "salt" in key for key in known)
    return "", False


def _documents(tables: _Tables, problems: list[str]) -> list[ExportedDocument]:
    notes, facts = _notes(tables), _custom_fields(tables)
    found: list[ExportedDocument] = []
    for pk, fields in sorted(tables.fields("documents.document"), key=lambda each: each[0]):
        try:
            document = _Document.model_validate(fields)
        except ValidationError:
            problems.append(f"document {pk}: its record in the manifest is damaged")
            continue
        if document.deleted_at is None:  # it lies in the trash there
            record = tables.records["documents.document"][pk]
            found.append(_document(pk, record, document, tables, notes.get(pk, []), facts.get(pk, {})))
    return found


def _document(
    pk: int,
    record: Record,
    fields: _Document,
    tables: _Tables,
    notes: list[ExportedNote],
    custom: Mapping[str, str],
) -> ExportedDocument:
    name = record.get("__exported_file_name__")
    problem = "" if isinstance(name, str) and name else "the export has no file of it"
    if fields.storage_type != "unencrypted":
        problem = "its file is encrypted (GPG); decrypt it in paperless-ngx first (decrypt_documents)"
    facts = {
        "Correspondent": tables.text("documents.correspondent", fields.correspondent),
        "Document type": tables.text("documents.documenttype", fields.document_type),
        "Storage path": tables.text("documents.storagepath", fields.storage_path),
        "Added": "" if fields.added is None else f"{fields.added:%Y-%m-%d}",
        **custom,
    }
    return ExportedDocument(
        pk=pk,
        file_name=str(name or ""),
        original_name=fields.original_filename or "",
        title=fields.title,
        created=_day(fields.created),
        added=fields.added,
        facts={key: value for key, value in facts.items() if value},
        serial_number=fields.archive_serial_number,
        tags=tuple(filter(None, (tables.text("documents.tag", tag) for tag in fields.tags))),
        notes=tuple(notes),
        problem=problem,
        checksum=fields.checksum or "",
    )


def _day(created: str | None) -> date | None:
    """The day of a date, or of a moment in the time zone that it is written in."""
    try:
        return date.fromisoformat((created or "")[:10])
    except ValueError:
        return None


def _notes(tables: _Tables) -> dict[int, list[ExportedNote]]:
    """Notes by document; releases before 1.13 call them comments."""
    found: dict[int, list[ExportedNote]] = {}
    for model in ("documents.note", "documents.comment"):
        for _, fields in tables.fields(model):
            try:
                note = _Note.model_validate(fields)
            except ValidationError:
                continue
            if text := (note.note or note.comment).strip():
                author = tables.text("auth.user", note.user, "username")
                found.setdefault(note.document, []).append(ExportedNote(text, author, note.created))
    return found


def _custom_fields(tables: _Tables) -> dict[int, dict[str, str]]:
    """The values of custom fields as text, by document and name."""
    found: dict[int, dict[str, str]] = {}
    for _, fields in tables.fields("documents.customfieldinstance"):
        try:
            value = _FieldValue.model_validate(fields)
        except ValidationError:
            continue
        name = tables.text("documents.customfield", value.field)
        text = _value_text(value, tables)
        if name and text and fields.get("deleted_at") is None:
            found.setdefault(value.document, {})[name] = text
    return found


def _value_text(value: _FieldValue, tables: _Tables) -> str:
    if value.value_select is not None:
        return _option(value, tables)
    if value.value_document_ids is not None:
        titles = (tables.text("documents.document", pk, "title") for pk in value.value_document_ids)
        return ", ".join(filter(None, titles))
    if value.value_bool is not None:
        return "yes" if value.value_bool else "no"
    values = (
        value.value_text,
        value.value_long_text,
        value.value_url,
        value.value_date,
        value.value_int,
        value.value_float,
        value.value_monetary,
    )
    return next((str(each) for each in values if each is not None), "")


def _option(value: _FieldValue, tables: _Tables) -> str:
    """The label of a chosen option: options have ids since 2.14, before that their place in a list."""
    record = tables.records.get("documents.customfield", {}).get(value.field)
    extra: Any = record["fields"].get("extra_data") if record else None
    options: Any = cast("Record", extra).get("select_options") if isinstance(extra, dict) else None
    if not isinstance(options, list):
        return ""
    for index, option in enumerate(cast("list[Any]", options)):
        if isinstance(option, dict):
            known = cast("Record", option)
            if str(known.get("id")) == str(value.value_select):
                return str(known.get("label") or "")
        elif str(index) == str(value.value_select):
            return str(option)
    return ""
