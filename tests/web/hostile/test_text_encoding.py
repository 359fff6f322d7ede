"""Texts that cannot be encoded or stored, in every place where a request has texts: refused with a reason."""

import base64
import json
from collections.abc import Mapping

import httpx
import pytest

from docmill.text_input import UNSTORABLE
from support.attacked_vault import AttackedVault
from support.people import token_in

pytestmark = pytest.mark.asyncio(loop_scope="module")

HALF = "\ud800"
FORM = "multipart/form-data; boundary=XX; charset={}"


def form_of(fields: Mapping[str, bytes]) -> bytes:
    parts = [
        b'--XX\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n' % (name.encode(), value)
        for name, value in fields.items()
    ]
    return b"".join([*parts, b"--XX--\r\n"])


def told(answer: httpx.Response) -> tuple[int, bool]:
    """The status, and whether the reason is told."""
    return answer.status_code, UNSTORABLE in answer.text


@pytest.mark.parametrize(("charset", "half"), [("unicode_escape", rb"\ud800"), ("utf-7", b"+2AA-")])
@pytest.mark.parametrize("path", ["/login", "/forgotten", "/join", "/password", "/welcome"])
async def test_forms_in_encodings_that_have_halves_of_characters(
    attacked: AttackedVault, path: str, charset: str, half: bytes
) -> None:
    answers: list[httpx.Response] = []
    headers = {"content-type": FORM.format(charset)}
    async with attacked.client(address="192.0.2.41") as stranger:
        headers["x-form-token"] = token_in((await stranger.get("/login")).text, "/login")
        for name in ("email", "password", "name", "token", half.decode()):
            fields = {"email": b"a@example.org", "password": b"x", "token": b"x", name: half}
            answers.append(await stranger.post(path, content=form_of(fields), headers=headers))

    assert {told(answer) for answer in answers} == {(422, True)}


@pytest.mark.parametrize(
    "body",
    [
        rb'{"username": "\ud800", "password": "x"}',
        rb'{"username": "x", "password": "\ud800"}',
        b'{"username": "x", "password": "\xed\xa0\x80"}',
        rb'{"username": "x", "password": "\u0000"}',
        rb'{"\udfff": "x"}',
    ],
)
async def test_json_of_a_program_that_has_not_signed_in(attacked: AttackedVault, body: bytes) -> None:
    async with attacked.client(address="192.0.2.42") as stranger:
        answer = await stranger.post(
            "/api/token/", content=body, headers={"content-type": "application/json"}
        )

    assert told(answer) == (422, True)
    assert answer.json()["code"] == "validation"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/api/v1/tags", {"name": HALF}),
        ("POST", "/api/v1/tags", {"name": "a\0"}),
        ("POST", "/api/v1/tags", {"name": "a", HALF: 1}),
        ("PATCH", "/api/v1/documents/{document_id}", {"title": f"x{HALF}"}),
        ("POST", "/api/v1/sources", {"kind": "folder", "name": "a", "settings": {"path": {HALF: HALF}}}),
    ],
)
async def test_json_is_checked_with_its_keys_at_any_depth(
    attacked: AttackedVault, method: str, path: str, body: object
) -> None:
    assert attacked.ours.key is not None
    async with attacked.client(key=attacked.ours.key.secret) as program:
        answer = await program.request(
            method,
            path.format(**attacked.ours.ids),
            content=json.dumps(body),
            headers={"content-type": "application/json"},
        )

    assert told(answer) == (422, True)


@pytest.mark.parametrize("path", ["/?q=a%00", "/?%00=a", "/docs/%00", "/api/v1/documents?q=%00"])
async def test_paths_and_queries(attacked: AttackedVault, path: str) -> None:
    async with attacked.client(session=attacked.ours.sessions["owner"]) as person:
        answer = await person.get(path)

    assert told(answer) == (422, True)


async def test_own_cookies_are_checked_and_those_of_others_left_alone(attacked: AttackedVault) -> None:
    async with attacked.client() as stranger:
        own = await stranger.get("/login", headers={"cookie": r'docmill-theme="a\000"'})
        other = await stranger.get("/login", headers={"cookie": r'theme="a\000"'})

    assert (told(own), other.status_code) == ((422, True), 200)


async def test_names_of_uploaded_files(attacked: AttackedVault) -> None:
    assert attacked.ours.key is not None
    part = (
        b'--XX\r\nContent-Disposition: form-data; name="file"; filename="a\0.txt"\r\n\r\nhello\r\n--XX--\r\n'
    )
    name = base64.b64encode(b"a\0.txt").decode()
    async with attacked.client(key=attacked.ours.key.secret) as program:
        answers = [
            await program.post(path, content=part, headers={"content-type": FORM.format("utf-8")})
            for path in ("/api/v1/documents", "/api/documents/post_document/")
        ]
        answers.append(
            await program.post(
                "/api/v1/uploads",
                headers={
                    "tus-resumable": "1.0.0",
                    "upload-length": "5",
                    "upload-metadata": f"filename {name}",
                },
            )
        )

    assert {told(answer) for answer in answers} == {(422, True)}
