"""How a person may name a document."""

from docmill.service.app import Service
from docmill.service.store import documents
from support.scripted_steps import Upload


async def test_a_document_is_called_by_its_file_and_by_both_ends_of_its_id(
    service: Service, upload: Upload
) -> None:
    first = (await upload(b"one", file_name="Bill 1.pdf")).document_id
    second = (await upload(b"two", file_name="bill 2.pdf")).document_id

    async with service.database.tenant(service.default_tenant_id) as conn:
        found = {
            name: [row.id for row in await documents.called(conn, name, limit=10)]
            for name in ("bill 1.PDF", str(first), str(first).upper()[-8:], str(first)[:4], "bill", "ill")
        }

    assert list(found.values()) == [[first], [first], [first], [second, first], [second, first], []]
