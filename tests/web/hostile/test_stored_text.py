"""Markup in every text that is stored: pages show it as text, files as cells, headers as names."""

import csv
import html
import io
import re
import zipfile
from uuid import UUID

import openpyxl
import pytest

from docmill.model.cells import looks_like_formula
from docmill.service.exports.safe_names import safe_name
from docmill.service.people.sign_in import Visitor
from docmill.web.security import HEADERS
from support.attacked_vault import AttackedVault, operations, read_document, send_of
from support.markup import HOSTILE, runs_markup

pytestmark = pytest.mark.asyncio(loop_scope="module")

FORMULA = "=HYPERLINK(1)"
TAG = "\"'><hostile onhostile=1>"
FILE_NAMES = [
    f"{HOSTILE}.pdf",
    "../../../etc/cron.d/x",
    "..\\..\\windows\\system32\\x.dll",
    "C:\\x",
    "/etc/passwd",
    "a\r\nSet-Cookie: hostile=1\r\n\r\n.pdf",
    'a"; filename="b.exe',
    "a\0b.pdf",
    "bill\u202efdp.exe",
    "CON",
    "x" * 10_000 + ".pdf",
    "=cmd|' /C calc'!A0.csv",
    " .. ",
    "\ud7ff\U0001f4a3.pdf",
]


async def _fill(attacked: AttackedVault) -> UUID:
    """Markup in whatever people, programs and papers can write."""
    service, ours = attacked.service, attacked.ours
    document_id = await read_document(
        service,
        ours.tenant_id,
        f"{HOSTILE}.pdf",
        text=HOSTILE,
        extraction_reason=HOSTILE,
        classification={
            "document_type": "receipt",
            "title": HOSTILE,
            "summary": HOSTILE,
            "tags": [HOSTILE],
            "document_date": "2026-11-03",
            "language": HOSTILE,
        },
        structured_data={
            "currency": "EUR",
            "number": HOSTILE,
            "gross_total": "12.90",
            "seller": {"name": FORMULA, "address": HOSTILE},
            "lines": [{"description": HOSTILE, "net_amount": "4.50"}],
        },
    )
    async with attacked.client(session=ours.sessions["owner"]) as owner:
        path = f"/api/v1/documents/{document_id}"
        result = (await owner.get(f"{path}/ingestions")).json()["ingestions"][0]["id"]
        sent = [
            await owner.patch(path, json={"title": HOSTILE}),
            await owner.post("/api/v1/tags", json={"name": TAG}),
            await owner.post(f"{path}/tags", json={"add": [TAG, f"{TAG} 2"]}),
            await owner.post("/api/v1/views", json={"name": HOSTILE, "query": f"q={HOSTILE}"}),
            await owner.post("/api/v1/keys", json={"name": HOSTILE, "scopes": ["read"]}),
            await owner.post("/profile/name", data={"name": HOSTILE}),
            await owner.post(
                f"{path}/reviews",
                json={
                    "ingestion_id": result,
                    "reviews": [{"path": "seller.address", "action": "correct", "value": HOSTILE}],
                },
            ),
            await owner.post(
                f"/docs/{document_id}/draft", data={"path": "seller.name", "typed": HOSTILE, "seen": HOSTILE}
            ),
            await owner.post(f"{path}/reviews/reject", json={"ingestion_id": result, "reason": HOSTILE}),
        ]
        invitation = {"role": "viewer", "email": "<hostile>@x.org"}
        refused = await owner.post("/api/v1/people/invitations", json=invitation)
    assert [answer.text for answer in sent if answer.status_code >= 400] == []
    assert refused.status_code == 422
    await service.sign_in.begin_session(ours.users["owner"], Visitor("192.0.2.1", HOSTILE))
    return document_id


@pytest.fixture(scope="module")
def filled() -> dict[int, UUID]:
    """The document with the markup, by the vault that it is in."""
    return {}


async def document_of(attacked: AttackedVault, filled: dict[int, UUID]) -> UUID:
    if id(attacked) not in filled:
        filled[id(attacked)] = await _fill(attacked)
    return filled[id(attacked)]


async def test_no_page_runs_what_was_stored(attacked: AttackedVault, filled: dict[int, UUID]) -> None:
    document_id = await document_of(attacked, filled)
    ids = {**attacked.ours.ids, "document_id": str(document_id)}
    addresses = {
        send_of(operation, {}, ids)[1]
        for operation in operations()
        if operation.method == "GET" and operation.is_page
    }
    opened: set[str] = set()
    showing: set[str] = set()
    running: list[str] = []

    async with attacked.client(session=attacked.ours.sessions["owner"]) as owner:
        while addresses - opened:
            address = min(addresses - opened)
            opened.add(address)
            answer = await owner.get(address)
            if "html" not in answer.headers.get("content-type", ""):
                continue
            if runs_markup(answer):
                running.append(address)
            if "&lt;hostile" in answer.text:
                showing.add(address.partition("?")[0])
            links = re.findall(r'href="(/(?!static|api)[^"#]*)', answer.text)
            if len(opened) < 150:
                addresses |= {html.unescape(link) for link in links}

    assert running == []
    document = f"/docs/{document_id}"
    expected = {
        "/",
        "/tags",
        "/keys",
        "/people",
        "/audit-log",
        "/profile",
        document,
        f"/review/{document_id}",
    }
    assert expected <= showing


async def test_no_cell_of_a_table_is_a_formula(attacked: AttackedVault, filled: dict[int, UUID]) -> None:
    await document_of(attacked, filled)
    assert attacked.ours.key is not None
    async with attacked.client(key=attacked.ours.key.secret) as program:
        texts = [
            (await program.get(f"/api/v1/exports/{name}")).content.decode("utf-8-sig")
            for name in ("fields.csv", "fields.csv?table=items", "ledger.csv")
        ]
        book = openpyxl.load_workbook(io.BytesIO((await program.get("/api/v1/exports/fields.xlsx")).content))

    cells = [cell for text in texts for row in csv.reader(io.StringIO(text)) for cell in row]
    assert f"'{FORMULA}" in cells
    assert [cell for cell in cells if looks_like_formula(cell)] == []
    kinds = {cell.value: cell.data_type for sheet in book for row in sheet.iter_rows() for cell in row}
    assert kinds[FORMULA] == "s"
    assert "f" not in kinds.values()


@pytest.mark.parametrize("name", FILE_NAMES)
async def test_a_hostile_file_name_leads_nowhere_and_adds_no_header(
    attacked: AttackedVault, name: str
) -> None:
    assert attacked.ours.key is not None
    document_id = await read_document(attacked.service, attacked.ours.tenant_id, name)
    async with attacked.client(key=attacked.ours.key.secret) as program:
        download = await program.get(
            f"/api/v1/documents/{document_id}/file", params={"disposition": "inline"}
        )
        page = await program.get(f"/docs/{document_id}")
        packed = await program.get("/api/v1/exports/documents.zip", params={"id": str(document_id)})

    assert not runs_markup(page)
    disposition = download.headers["content-disposition"]
    assert re.fullmatch(r"(inline|attachment); filename\*=UTF-8''[\w.%~-]*", disposition)
    assert "set-cookie" not in download.headers
    members = zipfile.ZipFile(io.BytesIO(packed.content)).namelist()
    assert len(members) == 2
    for member in members:
        folder, _, file_name = member.partition("/")
        assert folder in {"originals", "records"}
        source = file_name.removesuffix(".json")
        assert source == safe_name(source)


@pytest.mark.parametrize(
    "media_type", ["text/html", "image/svg+xml", "application/xhtml+xml", "text/xml", "text/javascript"]
)
async def test_what_could_be_a_page_is_never_shown_inline(attacked: AttackedVault, media_type: str) -> None:
    assert attacked.ours.key is not None
    document_id = await read_document(attacked.service, attacked.ours.tenant_id, f"{media_type}.html")
    async with attacked.service.database.tenant(attacked.ours.tenant_id) as conn:
        await conn.execute("UPDATE document SET media_type = %s WHERE id = %s", [media_type, document_id])
    async with attacked.client(key=attacked.ours.key.secret) as program:
        answer = await program.get(f"/api/v1/documents/{document_id}/file", params={"disposition": "inline"})

    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in answer.headers["content-security-policy"]


async def test_every_answer_has_the_headers_that_keep_others_out(attacked: AttackedVault) -> None:
    """Pages, the API, refusals, files of the pages, and errors."""
    assert attacked.ours.key is not None
    bare: list[str] = []
    async with (
        attacked.client(session=attacked.ours.sessions["viewer"]) as person,
        attacked.client(key=attacked.ours.key.secret) as program,
        attacked.client() as stranger,
    ):
        for operation in operations():
            if operation.method in {"GET", "HEAD"}:
                method, path, request = send_of(operation, {}, attacked.ours.ids)
                for client in (person, program, stranger):
                    answer = await client.request(method, path, **request)
                    own = {"content-security-policy"} if operation.path == "/api/docs" else set[str]()
                    wanted = {name: text for name, text in HEADERS.items() if name not in own}
                    if not wanted.items() <= answer.headers.items() or "Traceback" in answer.text:
                        bare.append(f"{answer.status_code} {operation.name}")
        for host, path in (("evil.example", "/"), ("localhost", "/absent"), ("localhost", "/static/x/y.css")):
            answer = await stranger.get(path, headers={"host": host})
            if not HEADERS.items() <= answer.headers.items():
                bare.append(path)

    assert bare == []
