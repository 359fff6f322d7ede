"""Answers in the form of paperless-ngx's API. Its ids are numbers; ours are made into some."""

import re
import zlib
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any
from uuid import UUID

from starlette.datastructures import URL

from docmill.service.paperless.tag_colors import HEX_OF_COLOR, UNCOLORED
from docmill.service.people.access import Access
from docmill.service.store.documents import DocumentRow
from docmill.service.store.ingestions import IngestionRow
from docmill.service.store.tags import TagRow

_LARGEST = 0x7FFFFFFF
"""Some clients keep ids in 32 bits with a sign."""

COLLECTIONS = (
    "correspondents",
    "custom_fields",
    "document_types",
    "documents",
    "groups",
    "saved_views",
    "statistics",
    "storage_paths",
    "tags",
    "tasks",
    "ui_settings",
    "users",
)
"""The resources that `/api/` names, by the ends of their addresses."""


_MATCHING = {"slug": "", "match": "", "matching_algorithm": 0, "is_insensitive": True, "owner": None}
"""Members of tags and types by which paperless-ngx assigns them; docmill does so by itself."""

_THINGS = (
    "document",
    "tag",
    "correspondent",
    "documenttype",
    "storagepath",
    "customfield",
    "paperlesstask",
    "uisettings",
    "note",
)

Json = dict[str, Any]
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def number_of(id_: UUID) -> int:
    """The number by which a client knows an id: its last 31 bits, which are random.

    Of a thousand tags, two share a number in one of 4,000 vaults.
    """
    return int(id_) & _LARGEST


def day_of(sent: str) -> date | None:
    """The day of `2016-04-19` or `2016-04-19 06:15:00+02:00`, as it is written there."""
    written = _DAY.match(sent.strip())
    try:
        return date.fromisoformat(written[0]) if written else None
    except ValueError:
        return None


def number_of_type(name: str) -> int:
    """The number by which a client knows a document type."""
    return zlib.crc32(name.encode()) & _LARGEST


def index_answer(url: URL) -> Json:
    """The addresses of everything that can be asked for."""
    return {name: str(url.replace(path=f"/api/{name}/", query="")) for name in COLLECTIONS}


def page_answer(url: URL, results: Sequence[Json], *, count: int, page: int, page_size: int) -> Json:
    """A page of a list. count: of the whole list. page: from 1."""
    has_next = page * page_size < count
    return {
        "count": count,
        "next": str(url.include_query_params(page=page + 1)) if has_next else None,
        "previous": str(url.include_query_params(page=page - 1)) if page > 1 else None,
        "all": [result["id"] for result in results],
        "results": list(results),
    }


def tag_answer(row: TagRow) -> Json:
    """A tag."""
    return {
        **_MATCHING,
        "id": number_of(row.id),
        "name": row.name,
        "color": HEX_OF_COLOR.get(row.color or "", UNCOLORED),
        "text_color": "#ffffff" if row.color else "#000000",
        "is_inbox_tag": False,
        "document_count": row.documents,
        "user_can_change": True,
    }


def type_answer(name: str, label: str) -> Json:
    """A document type."""
    return {
        **_MATCHING,
        "id": number_of_type(name),
        "name": label,
        "document_count": 0,
        "user_can_change": False,
    }


def document_answer(row: DocumentRow, tag_numbers: Mapping[str, int]) -> Json:
    """A document of a list, without its text. tag_numbers: by the names of tags."""
    day = (row.document_date or row.created_at.date()).isoformat()
    return {
        "id": number_of(row.id),
        "correspondent": None,
        "document_type": None if row.document_type is None else number_of_type(row.document_type),
        "storage_path": None,
        "title": row.title or row.file_name,
        "content": "",
        "tags": [tag_numbers[name] for name in row.tags if name in tag_numbers],
        "created": day,
        "created_date": day,
        "modified": row.updated_at.isoformat(),
        "added": row.created_at.isoformat(),
        "deleted_at": None,
        "archive_serial_number": row.archive_serial_number,
        "original_file_name": row.file_name,
        "archived_file_name": None,
        "owner": None,
        "user_can_change": True,
        "is_shared_by_requester": False,
        "notes": [],
        "custom_fields": [],
        "page_count": row.page_count,
        "mime_type": row.media_type,
    }


def task_answer(ingestion: IngestionRow, file_name: str) -> Json:
    """An ingestion as the task of an upload."""
    number = number_of(ingestion.document_id)
    status = {"completed": "SUCCESS", "failed": "FAILURE"}.get(
        ingestion.status, "PENDING" if ingestion.started_at is None else "STARTED"
    )
    result = f"Success. New document id {number} created" if status == "SUCCESS" else ingestion.error_message
    return {
        "id": number_of(ingestion.id),
        "task_id": str(ingestion.id),
        "task_name": "consume_file",
        "task_file_name": file_name,
        "date_created": ingestion.created_at.isoformat(),
        "date_done": None if ingestion.completed_at is None else ingestion.completed_at.isoformat(),
        "type": "file",
        "status": status,
        "result": result,
        "acknowledged": False,
        "related_document": str(number) if status == "SUCCESS" else None,
        "owner": None,
    }


def ui_settings_answer(access: Access) -> Json:
    """The person or program that asks, and what they may do."""
    verbs = ["view", *(["add", "change"] if "write" in access.allows else [])]
    user = number_of(access.user_id)
    return {
        "user": {
            "id": user,
            "username": access.email or access.user_name,
            "first_name": access.user_name,
            "last_name": "",
            "is_staff": False,
            "is_superuser": False,
            "groups": [],
        },
        "user_id": user,
        "username": access.email or access.user_name,
        "display_name": access.user_name,
        "settings": {"app_title": "docmill", "update_checking": {"backend_setting": "false"}},
        "permissions": [f"{verb}_{thing}" for thing in _THINGS for verb in verbs],
    }


def statistics_answer(*, documents: int, tags: int, document_types: int, highest_number: int) -> Json:
    """The numbers that phone apps show first. highest_number: archive serial number, 0 for none."""
    return {
        "documents_total": documents,
        "documents_inbox": None,
        "inbox_tag": None,
        "inbox_tags": None,
        "document_file_type_counts": [],
        "character_count": 0,
        "tag_count": tags,
        "correspondent_count": 0,
        "document_type_count": document_types,
        "storage_path_count": 0,
        "current_asn": highest_number,
    }
