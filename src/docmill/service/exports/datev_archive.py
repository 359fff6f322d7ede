"""Bookings in the DATEV format together with the documents that they book, linked by GUIDs.

The documents are described by a `document.xml` of DATEV's XML interface (schema 6.0). Its GUIDs are those of
the links in the bookings.
"""

from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from uuid import UUID

from lxml import etree

from docmill.service.exports.archive import ALREADY_SMALL, open_original
from docmill.service.exports.safe_names import SafeNames
from docmill.service.exports.zip_stream import ZipStream
from docmill.service.storage.blobs import Blobs
from docmill.service.store import documents
from docmill.service.store.database import Database

MANIFEST = "document.xml"
_NAMESPACE = "http://xml.datev.de/bedi/tps/document/v06.0"
_SCHEMA = f"{_NAMESPACE} Document_v060.xsd"
_INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"


class DatevArchive:
    """Makes an archive of a file of bookings and the booked documents."""

    def __init__(self, database: Database, blobs: Blobs, *, tenant_id: UUID) -> None:
        self._database = database
        self._blobs = blobs
        self._tenant_id = tenant_id

    async def stream(
        self, bookings: AsyncGenerator[bytes], name: str, booked: list[UUID]
    ) -> AsyncGenerator[bytes]:
        """The archive in pieces.

        bookings: the file of bookings, called `name`. booked: the documents in it, complete when the file is.
        An original that is gone from the file store is left out of the manifest as well.
        """
        archive, names, files = ZipStream(), SafeNames(), list[tuple[UUID, str]]()
        created_at = datetime.now(UTC)
        async for chunk in archive.add(
            name, bookings, byte_size=0, modified_at=created_at, is_compressed=True
        ):
            yield chunk
        names.take(name)
        names.take(MANIFEST)
        for document_id in booked:
            async with self._database.tenant(self._tenant_id) as conn:
                row = await documents.get(conn, document_id)
            original = None if row is None else await open_original(self._blobs, row.file_path)
            if row is None or original is None:
                continue
            files.append((document_id, names.take(row.file_name)))
            async for chunk in archive.add(
                files[-1][1],
                original,
                byte_size=row.byte_size,
                modified_at=row.created_at,
                is_compressed=not row.media_type.startswith(ALREADY_SMALL),
            ):
                yield chunk
        yield archive.add_bytes(MANIFEST, manifest(files, created_at), modified_at=created_at)
        yield archive.end()


def manifest(files: list[tuple[UUID, str]], created_at: datetime) -> bytes:
    """The `document.xml` of these documents and the names of their files."""
    root = etree.Element(
        f"{{{_NAMESPACE}}}archive",
        {f"{{{_INSTANCE}}}schemaLocation": _SCHEMA, "version": "6.0", "generatingSystem": "docmill"},
        nsmap={None: _NAMESPACE, "xsi": _INSTANCE},
    )
    header = etree.SubElement(root, f"{{{_NAMESPACE}}}header")
    etree.SubElement(header, f"{{{_NAMESPACE}}}date").text = f"{created_at:%Y-%m-%dT%H:%M:%S}"
    content = etree.SubElement(root, f"{{{_NAMESPACE}}}content")
    for document_id, name in files:
        document = etree.SubElement(content, f"{{{_NAMESPACE}}}document", {"guid": str(document_id)})
        etree.SubElement(
            document, f"{{{_NAMESPACE}}}extension", {f"{{{_INSTANCE}}}type": "File", "name": name}
        )
    return etree.tostring(root, encoding="UTF-8", xml_declaration=True, pretty_print=True)
