"""Hostile text in every parameter of every route: refused or taken as text, and no fault of the server."""

from collections.abc import Iterator

import pytest

from support.attacked_vault import AttackedVault, Operation, Parameter, operations, send_of
from support.markup import HOSTILE, runs_markup

pytestmark = pytest.mark.asyncio(loop_scope="module")

TEXTS = {
    "markup": HOSTILE,
    "quotes": "' OR 1=1; DROP TABLE document; -- \" \\ $1 %s {0} {{7*7}}",
    "patterns": '%_\\ (((((a+)+)+)+)+$ [z-a] *:* a & | ! <-> "',
    "nul": "a\0b",
    "surrogate": "\ud800\udfff",
    "signs": "\u202e\u200b\ufeff\u0301\U0001f4a3\U000e0041\uffff",
    "lines": "a\r\nSet-Cookie: hostile=1\r\n\r\nb\u2028",
    "long": "a" * 3_000,
    "number": "9" * 30,
    "negative": "-1",
    "not a number": "NaN",
    "nothing": "",
    "date": "0000-99-99",
    "late date": "9999-12-31T23:59:59+14:00",
}

ALONE = {"nul", "negative"}
"""Beside others that are refused, they would not get as far as the database."""
ENDS_THE_SESSION = {"POST /logout", "POST /tenant", "POST /profile/sessions/end-others"}


@pytest.mark.parametrize("text", TEXTS)
async def test_hostile_text_is_taken_as_text_by_every_parameter(attacked: AttackedVault, text: str) -> None:
    faults: list[str] = []
    assert attacked.ours.key is not None
    async with (
        attacked.client(key=attacked.ours.key.secret) as program,
        attacked.client(session=attacked.ours.sessions["owner"]) as person,
    ):
        for operation in operations():
            if operation.name in ENDS_THE_SESSION:
                continue
            for values in _combinations(operation, text, attacked.ours.ids):
                method, path, request = send_of(operation, values, attacked.ours.ids)
                client = person if operation.is_page else program
                answer = await client.request(method, path, **request)
                if answer.status_code >= 500 or runs_markup(answer):
                    faults.append(f"{answer.status_code} {operation.name} {sorted(p.name for p in values)}")
                assert "set-cookie" not in answer.headers or "hostile" not in answer.headers["set-cookie"]

    assert faults == []


def _combinations(operation: Operation, text: str, ids: dict[str, str]) -> Iterator[dict[Parameter, str]]:
    """The text in all parameters, in all but ids, and for some texts in each one by itself."""
    asked = [parameter for parameter in operation.parameters if parameter.place != "header"]
    proper = {
        parameter: ids[parameter.name]
        for parameter in asked
        if parameter.is_id and parameter.name in ids and parameter.place != "path"
    }
    others = [parameter for parameter in asked if not parameter.is_id]
    yield dict.fromkeys(asked, TEXTS[text])
    if others:  # else it may be a route that deletes what its id names
        yield {**proper, **dict.fromkeys(others, TEXTS[text])}
    if len(others) > 1 and text in ALONE:
        for parameter in others:
            yield {**proper, parameter: TEXTS[text]}
