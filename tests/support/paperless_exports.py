"""Exports of paperless-ngx as its document_exporter writes them, in the layouts of several releases."""

import hashlib
import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Record = dict[str, Any]

TABLES: list[Record] = [
    {"model": "auth.user", "pk": 3, "fields": {"username": "ada", "password": "pbkdf2_sha256$…"}},
    {"model": "documents.correspondent", "pk": 1, "fields": {"name": "Stadtwerke", "match": "", "owner": 3}},
    {"model": "documents.documenttype", "pk": 2, "fields": {"name": "Rechnung", "match": ""}},
    {"model": "documents.storagepath", "pk": 4, "fields": {"name": "Haus", "path": "{{ created_year }}"}},
    {
        "model": "documents.tag",
        "pk": 5,
        "fields": {"name": "Inbox", "color": "#e31a1c", "is_inbox_tag": True},
    },
    {"model": "documents.tag", "pk": 6, "fields": {"name": "Steuer 2024", "color": "#a6cee3"}},
    {"model": "documents.customfield", "pk": 7, "fields": {"name": "Betrag", "data_type": "monetary"}},
    {
        "model": "documents.customfield",
        "pk": 8,
        "fields": {
            "name": "Status",
            "data_type": "select",
            "extra_data": {
                "select_options": [{"id": "aB1", "label": "bezahlt"}, {"id": "cD2", "label": "offen"}]
            },
        },
    },
    {"model": "paperless_mail.mailaccount", "pk": 9, "fields": {"name": "mail", "password": "671a3d"}},
    {"model": "documents.workflow", "pk": 10, "fields": {"name": "scan"}},
    {"model": "auditlog.logentry", "pk": 11, "fields": {"changes": {"title": ["a", "b"]}}},
]
"""What documents refer to, and what is not imported."""


@dataclass
class PaperlessExport:
    """An export in the making. is_split: `--split-manifest`. prefix: of `--use-folder-prefix`."""

    root: Path
    version: str = "2.14.7"
    is_split: bool = False
    prefix: str = ""
    metadata_name: str = "metadata.json"
    metadata: Record = field(default_factory=dict[str, Any])
    documents: list[list[Record]] = field(default_factory=list[list[Record]])

    def add(
        self,
        pk: int,
        content: bytes | None,
        *,
        name: str = "",
        more: list[Record] | None = None,
        **fields: object,
    ) -> None:
        """Add a document. name: of its file in the export. more: notes and values of custom fields."""
        name = name or f"{self.prefix and self.prefix + '/'}2024-05-01 Stadtwerke Strom {pk}.pdf"
        record: Record = {
            "model": "documents.document",
            "pk": pk,
            "fields": {
                "correspondent": 1,
                "storage_path": 4,
                "title": f"Strom {pk}",
                "document_type": 2,
                "content": 'the text \\ of "it" ' * 50,
                "mime_type": "application/pdf",
                "tags": [5, 6],
                "checksum": hashlib.md5(content or b"", usedforsecurity=False).hexdigest(),
                "created": "2024-05-01",
                "modified": "2024-06-02T10:00:00Z",
                "added": "2024-06-01T08:30:00.123Z",
                "storage_type": "unencrypted",
                "original_filename": f"scan {pk}.pdf",
                "archive_serial_number": None,
                "owner": 3,
                **fields,
            },
            "__exported_file_name__": name,
            "__exported_thumbnail_name__": f"{name}-thumbnail.webp",
            "__exported_archive_name__": f"{name}-archive.pdf",
        }
        self.documents.append([record, *(more or [])])
        if content is not None:
            self.file(name, content)

    def file(self, name: str, content: bytes) -> None:
        """Write a file of the export."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def write(self) -> Path:
        """Write the manifests; the folder."""
        records = [*TABLES]
        for number, of_document in enumerate(self.documents):
            if self.is_split:
                folder = "json/" if self.prefix else ""
                text = json.dumps(of_document, indent=2, ensure_ascii=False)
                self.file(f"{folder}document {number}-manifest.json", text.encode())
            else:
                records = [*records, *of_document]
        text = json.dumps(records, indent=2, ensure_ascii=False)
        self.file("manifest.json", text.encode("utf-8", "surrogatepass"))
        self.file(self.metadata_name, json.dumps({"version": self.version, **self.metadata}).encode())
        return self.root

    def pack(self) -> Path:
        """Write the manifests and a zip archive of all; the archive."""
        return Path(shutil.make_archive(str(self.root.parent / "export"), "zip", self.write()))


def note(pk: int, document: int, text: str, *, model: str = "note") -> Record:
    """A note of Ada; before 1.13 a comment."""
    fields = {model: text, "created": "2024-06-03T09:00:00Z", "document": document, "user": 3}
    return {"model": f"documents.{model}", "pk": pk, "fields": fields}


def value(pk: int, document: int, number_of_field: int, **values: object) -> Record:
    """A value of a custom field, as all its columns are exported."""
    fields = {"document": document, "field": number_of_field, "value_text": None, "value_int": None, **values}
    return {"model": "documents.customfieldinstance", "pk": pk, "fields": fields}
