"""Import of exports of paperless-ngx into a real vault."""

import dataclasses
import json
import struct
import zipfile
from datetime import UTC, date, datetime
from pathlib import Path
from uuid import UUID

import pytest

from docmill.errors import CorruptError, ValidationError
from docmill.service.app import Service
from docmill.service.paperless.carry_over import CarryOver
from docmill.service.paperless.export_files import open_export
from docmill.service.paperless.importing import Outcome, PaperlessImport
from docmill.service.paperless.manifest import Manifest, read_manifest
from docmill.service.store import bin as bin_store
from docmill.service.store import documents, notes, tags
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.documents import DocumentRow
from docmill.service.store.notes import NoteRow
from docmill.service.store.reviews import TITLE
from docmill.service.tagging import Tagging
from support.paperless_exports import PaperlessExport, note, value

MAX_BYTES = 1_000_000


@pytest.fixture
def export(tmp_path: Path) -> PaperlessExport:
    return PaperlessExport(tmp_path / "export")


class Importing:
    """Imports into a vault, and looks at what is there then."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.tenant_id = service.default_tenant_id
        self.tagging = Tagging(service.database, service.feed)
        carry_over = CarryOver(service.database, service.edits, self.tagging)
        self._import = PaperlessImport(
            service.intake,
            carry_over,
            max_bytes=MAX_BYTES,
            tenant_id=self.tenant_id,
            user_id=DEFAULT_USER_ID,
        )
        self.manifest: Manifest | None = None

    async def run(self, path: Path, *, is_dry: bool = False) -> dict[int, Outcome]:
        outcomes: dict[int, Outcome] = {}
        with open_export(path) as files:
            self.manifest = read_manifest(files)
            await self._import.run(
                files,
                self.manifest,
                lambda outcome: outcomes.update({outcome.document.pk: outcome}),
                is_dry=is_dry,
            )
        return outcomes

    async def document(self, document_id: UUID | None) -> DocumentRow:
        assert document_id is not None
        async with self.service.database.tenant(self.tenant_id) as conn:
            row = await documents.get(conn, document_id)
        assert row is not None
        return row

    async def notes(self, document_id: UUID | None) -> list[NoteRow]:
        assert document_id is not None
        async with self.service.database.tenant(self.tenant_id) as conn:
            return await notes.of_document(conn, document_id)

    async def everything(self) -> list[object]:
        """What a second import must not change."""
        async with self.service.database.tenant(self.tenant_id) as conn:
            cur = await conn.execute(
                """
                SELECT (SELECT jsonb_agg(to_jsonb(document) ORDER BY id) FROM document),
                       (SELECT jsonb_agg(to_jsonb(document_note) ORDER BY id) FROM document_note),
                       (SELECT jsonb_agg(to_jsonb(tag) ORDER BY id) FROM tag),
                       (SELECT count(*) FROM review), (SELECT count(*) FROM ingestion),
                       (SELECT count(*) FROM event)
                """
            )
            return list(await cur.fetchall())


@pytest.fixture
def importing(service: Service) -> Importing:
    return Importing(service)


def statuses(outcomes: dict[int, Outcome]) -> dict[int, str]:
    return {pk: outcome.status for pk, outcome in outcomes.items()}


async def test_a_document_comes_with_what_paperless_knows_of_it(
    importing: Importing, export: PaperlessExport
) -> None:
    more = [
        note(20, 7, "Zähler getauscht\nam 3. Mai"),
        value(30, 7, 7, value_monetary="EUR12.50"),
        value(31, 7, 8, value_select="cD2"),
    ]
    export.add(7, b"%PDF-1.7 a", archive_serial_number=42, more=more)

    outcomes = await importing.run(export.write())

    row = await importing.document(outcomes[7].document_id)
    assert (row.file_name, row.title, row.document_date) == ("scan 7.pdf", "Strom 7", date(2024, 5, 1))
    assert sorted(row.tags) == ["Inbox", "Steuer 2024"]
    assert row.archive_serial_number == 42
    facts, written = await importing.notes(row.id)
    assert (written.text, written.author) == ("Zähler getauscht\nam 3. Mai", "ada")
    assert written.created_at == datetime(2024, 6, 3, 9, tzinfo=UTC)
    assert facts.author == "paperless-ngx"
    assert facts.text.splitlines() == [
        "From paperless-ngx:",
        "Correspondent: Stadtwerke",
        "Document type: Rechnung",
        "Storage path: Haus",
        "Added: 2024-06-01",
        "Betrag: EUR12.50",
        "Status: offen",
    ]
    async with importing.service.database.tenant(importing.tenant_id) as conn:
        assert await tags.colors(conn) == {"Inbox": "red"}, "the default colour is none"
        cur = await conn.execute("SELECT source_metadata FROM ingestion")
        assert await cur.fetchall() == [({"imported_from": "paperless-ngx", "paperless_id": 7},)]
    assert importing.manifest is not None
    assert importing.manifest.version == "2.14.7"
    assert importing.manifest.not_imported == {"user": 1, "workflow": 1, "mail account": 1}


LAYOUTS = {
    "plain": PaperlessExport(Path()),
    "split": PaperlessExport(Path(), is_split=True),
    "folders": PaperlessExport(Path(), prefix="originals"),
    "split folders": PaperlessExport(Path(), is_split=True, prefix="originals"),
    "file name format": PaperlessExport(Path(), prefix="Haus/2024/Stadtwerke"),
    "1.17": PaperlessExport(Path(), version="1.17.4", metadata_name="version.json"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("is_zip", [False, True])
async def test_every_layout_of_the_exporter_is_read(
    importing: Importing, tmp_path: Path, layout: str, *, is_zip: bool
) -> None:
    export = dataclasses.replace(LAYOUTS[layout], root=tmp_path / "export", documents=[])
    model = "comment" if layout == "1.17" else "note"
    export.add(1, b"%PDF-1.7 a", more=[note(1, 1, "Hello", model=model)], created="2024-05-01T22:00:00+02:00")
    export.add(2, b"%PDF-1.7 b")
    path = export.pack() if is_zip else export.write()

    outcomes = await importing.run(path)

    assert statuses(outcomes) == {1: "new", 2: "new"}
    row = await importing.document(outcomes[1].document_id)
    assert (row.title, row.document_date) == ("Strom 1", date(2024, 5, 1))
    assert len(await importing.notes(row.id)) == 2
    assert statuses(await importing.run(path)) == {1: "unchanged", 2: "unchanged"}


async def test_a_number_that_another_document_has_is_told_and_noted(
    importing: Importing, export: PaperlessExport
) -> None:
    export.add(1, b"%PDF-1.7 a", archive_serial_number=42)
    export.add(2, b"%PDF-1.7 b", archive_serial_number=42)

    outcomes = await importing.run(export.write())

    fault = "“Strom 1” has the archive serial number 42 already."
    assert (outcomes[1].doubt, outcomes[2].status, outcomes[2].doubt) == ("", "new", fault)
    row = await importing.document(outcomes[2].document_id)
    assert row.archive_serial_number is None
    noted = [note.text for note in await importing.notes(row.id)]
    assert f"From paperless-ngx:\nArchive serial number: 42. {fault}" in noted

    again = await importing.run(export.write())

    assert (again[1].doubt, again[2].status, again[2].doubt) == ("", "unchanged", fault)
    assert [note.text for note in await importing.notes(row.id)] == noted


async def test_a_second_import_brings_the_numbers_of_documents_without_one(
    importing: Importing, export: PaperlessExport
) -> None:
    export.add(1, b"%PDF-1.7 a")
    await importing.run(export.write())
    export.documents.clear()
    export.add(1, b"%PDF-1.7 a", archive_serial_number=0)

    outcomes = await importing.run(export.write())

    row = await importing.document(outcomes[1].document_id)
    assert (outcomes[1].status, row.archive_serial_number) == ("unchanged", 0)


async def test_a_second_import_changes_nothing(importing: Importing, export: PaperlessExport) -> None:
    export.add(1, b"%PDF-1.7 a", more=[note(1, 1, "Hello")])
    await importing.run(export.write())
    before = await importing.everything()

    outcomes = await importing.run(export.root)

    assert statuses(outcomes) == {1: "unchanged"}
    assert await importing.everything() == before


async def test_what_a_person_changed_stays(importing: Importing, export: PaperlessExport) -> None:
    export.add(1, b"%PDF-1.7 a", more=[note(1, 1, "Hello")])
    first = await importing.run(export.write())
    document_id = first[1].document_id
    assert document_id is not None
    service, tenant_id = importing.service, importing.tenant_id
    await service.edits.change(
        document_id, {TITLE: "Electricity"}, tenant_id=tenant_id, edited_by=DEFAULT_USER_ID
    )
    await importing.tagging.assign(
        [document_id], add=["power"], remove=["Inbox"], tenant_id=tenant_id, assigned_by=DEFAULT_USER_ID
    )
    async with service.database.tenant(tenant_id) as conn:
        for row in await notes.of_document(conn, document_id):
            await notes.delete(conn, document_id, row.id)

    export.documents.clear()
    export.add(1, b"%PDF-1.7 a", more=[note(1, 1, "Hello"), note(2, 1, "Written since")])
    await importing.run(export.write())

    row = await importing.document(document_id)
    assert (row.title, sorted(row.tags)) == ("Electricity", ["Steuer 2024", "power"])
    assert [each.text for each in await importing.notes(document_id)] == ["Written since"]


async def test_an_import_that_was_killed_goes_on(
    importing: Importing, export: PaperlessExport, monkeypatch: pytest.MonkeyPatch
) -> None:
    export.add(1, b"%PDF-1.7 a")
    export.add(2, b"%PDF-1.7 b")
    path = export.write()
    assign, calls = Tagging.assign, 0

    async def killed_at_the_second(*given: object, **named: object) -> int:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        return await assign(*given, **named)  # pyright: ignore[reportArgumentType]  as it is called

    monkeypatch.setattr(Tagging, "assign", killed_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        await importing.run(path)
    monkeypatch.undo()

    outcomes = await importing.run(path)

    assert statuses(outcomes) == {1: "unchanged", 2: "known"}
    row = await importing.document(outcomes[2].document_id)
    assert sorted(row.tags) == ["Inbox", "Steuer 2024"]
    assert len(await importing.notes(row.id)) == 1


async def test_a_deleted_document_stays_in_the_bin(importing: Importing, export: PaperlessExport) -> None:
    export.add(1, b"%PDF-1.7 a")
    document_id = (await importing.run(export.write()))[1].document_id
    assert document_id is not None
    await importing.service.bin.delete(document_id, tenant_id=importing.tenant_id, deleted_by=DEFAULT_USER_ID)

    outcomes = await importing.run(export.root)

    assert statuses(outcomes) == {1: "unchanged"}
    async with importing.service.database.tenant(importing.tenant_id) as conn:
        assert await documents.number(conn) == 0
        async with bin_store.showing_bin(conn):
            assert await documents.number(conn) == 1


async def test_a_dry_run_changes_nothing(importing: Importing, export: PaperlessExport) -> None:
    export.add(1, b"%PDF-1.7 a")
    export.add(2, None)
    before = await importing.everything()

    outcomes = await importing.run(export.write(), is_dry=True)

    assert statuses(outcomes) == {1: "new", 2: "refused"}
    assert await importing.everything() == before


async def test_documents_that_cannot_be_imported_are_named_and_the_others_imported(
    importing: Importing, export: PaperlessExport, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.pdf"
    secret.write_bytes(b"%PDF-1.7 secret")
    export.add(1, None, name="missing.pdf")
    export.add(2, None, name="../secret.pdf")
    export.add(3, None, name=str(secret))
    export.add(4, None, name="link.pdf")
    export.add(5, b"", name="empty.pdf")
    export.add(6, b"x" * (MAX_BYTES + 1))
    export.add(7, b"gpg", storage_type="gpg")
    export.add(8, b"%PDF-1.7 fine", tags=[99], correspondent=99, added="yesterday", created="soon", title="")
    export.add(9, b"%PDF-1.7 damaged", tags="none")
    export.add(10, b"%PDF-1.7 trash", deleted_at="2024-07-01T00:00:00Z")
    (export.root / "link.pdf").symlink_to(secret)

    outcomes = await importing.run(export.write())

    problems = {pk: outcome.problem for pk, outcome in outcomes.items() if outcome.status == "refused"}
    assert problems == {
        1: "'missing.pdf' is missing in the export; export again",
        2: "the manifest names '../secret.pdf', which is no file of the export",
        3: f"the manifest names {str(secret)!r}, which is no file of the export",
        4: "'link.pdf' is a link that leads out of the export",
        5: "the file is empty",
        6: f"'2024-05-01 Stadtwerke Strom 6.pdf' is larger than {MAX_BYTES:,} bytes",
        7: "its file is encrypted (GPG); decrypt it in paperless-ngx first (decrypt_documents)",
    }
    assert outcomes[8].status == "new"
    assert importing.manifest is not None
    assert importing.manifest.problems == ["document 9: its record in the manifest is damaged"]
    assert 10 not in outcomes


async def test_letters_that_no_text_has_do_no_harm(importing: Importing, export: PaperlessExport) -> None:
    odd = "a\0b\ud800c"
    export.add(1, b"%PDF-1.7 a", title=odd, original_filename=odd, tags=[12], more=[note(1, 1, odd)])
    records = json.loads((export.write() / "manifest.json").read_bytes().decode("utf-8", "surrogatepass"))
    records.append({"model": "documents.tag", "pk": 12, "fields": {"name": odd, "color": "#ff0000"}})
    export.file("manifest.json", json.dumps(records).encode())

    outcomes = await importing.run(export.root)

    row = await importing.document(outcomes[1].document_id)
    assert [len(row.tags), len(await importing.notes(row.id))] == [1, 2]
    assert statuses(await importing.run(export.root)) == {1: "unchanged"}


async def test_a_broken_split_manifest_costs_its_document_alone(
    importing: Importing, export: PaperlessExport
) -> None:
    export.is_split = True
    export.add(1, b"%PDF-1.7 a")
    export.write()
    export.file("cut-manifest.json", b'[{"model": "documents.document"')

    outcomes = await importing.run(export.root)

    assert statuses(outcomes) == {1: "new"}
    assert importing.manifest is not None
    assert importing.manifest.problems == [
        "'cut-manifest.json' is no manifest that can be read; export again"
    ]


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[1]", b'[{"model": "x"}', b"[" * 100_000, b"\xff\xfe[", b'[{"a": }]']
)
async def test_an_export_whose_manifest_is_broken_is_refused(
    importing: Importing, export: PaperlessExport, content: bytes
) -> None:
    export.file("manifest.json", content)

    with pytest.raises(CorruptError, match=r"manifest\.json"):
        await importing.run(export.root)


async def test_what_is_no_export_is_refused(importing: Importing, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("a.pdf", b"x")

    for name, error in {
        "nowhere": ValidationError,
        "notes.txt": CorruptError,
        "other.zip": ValidationError,
        ".": ValidationError,
    }.items():
        with pytest.raises(error):
            await importing.run(tmp_path / name)


async def test_members_of_an_archive_that_do_harm_are_refused(
    importing: Importing, export: PaperlessExport
) -> None:
    export.add(1, b"\0" * 20_000_000, name="bomb.pdf")
    export.add(2, b"%PDF-1.7 " + bytes(range(256)) * 40, name="damaged.pdf")
    export.add(3, b"%PDF-1.7 secret", name="locked.pdf")
    export.add(4, b"%PDF-1.7 fine")
    export.add(5, None, name="../outside.pdf")
    path = export.pack()
    with zipfile.ZipFile(path) as archive:
        damaged, locked = archive.getinfo("damaged.pdf"), archive.getinfo("locked.pdf")
    data = bytearray(path.read_bytes())
    start = damaged.header_offset + 30 + len(damaged.filename)
    data[start + 20 : start + 60] = b"\xff" * 40
    central = data.rindex(b"locked.pdf") - 46  # the flags of its entry in the directory
    struct.pack_into("<H", data, central + 8, locked.flag_bits | 1)
    with zipfile.ZipFile(path, "a") as archive:
        del archive
    path.write_bytes(data)

    outcomes = await importing.run(path)

    assert {pk: outcome.problem for pk, outcome in outcomes.items()} == {
        1: "'bomb.pdf' is compressed so much that it is no document",
        2: "'damaged.pdf' is damaged in the export; export again",
        3: "'locked.pdf' is protected by a password; unpack the archive, and import the folder",
        4: "",
        5: "the manifest names '../outside.pdf', which is no file of the export",
    }


async def test_a_large_manifest_is_read_in_pieces(export: PaperlessExport) -> None:
    export.add(1, b"%PDF-1.7 a")
    records = json.loads((export.write() / "manifest.json").read_text())
    records[-1]["fields"]["content"] = "text " * 300_000
    export.file("manifest.json", json.dumps([*records, *records]).encode())
    export.metadata["__crypto__"] = {"algorithm": "pbkdf2_sha256"}
    export.file("metadata.json", json.dumps({"version": "2.9", **export.metadata}).encode())

    with open_export(export.root) as files:
        manifest = read_manifest(files)

    assert [document.title for document in manifest.documents] == ["Strom 1"]
    assert manifest.has_secrets
