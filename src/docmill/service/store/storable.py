"""Values as PostgreSQL takes them: text without NUL, rows as the jsonb of one parameter."""

import json
import re
from typing import Any, TypeVar

from psycopg.types.json import Jsonb
from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, to_json

from docmill.resilience.concurrency import TEXT_CHARACTERS, off_loop

Text = TypeVar("Text", str, str | None)


def storable(text: Text) -> Text:
    """`text` as PostgreSQL takes it: without NUL and halves of characters, both of which files contain."""
    if text is None:
        return text
    return text.replace("\0", "").encode("utf-8", "replace").decode()


async def dumped(rows: list[dict[str, Any]]) -> Jsonb:
    """`rows` as a jsonb parameter; values that JSON does not have (decimals) as text."""
    characters = sum(len(row.get("text") or "") for row in rows)
    return await off_loop(_dumped, rows, size=characters / TEXT_CHARACTERS)


def _dumped(rows: list[dict[str, Any]]) -> Jsonb:
    try:
        data = to_json(rows)
    except PydanticSerializationError:  # a half of a character
        data = json.dumps(rows, default=str).encode()
    if _UNSTORABLE.search(data):  # rare, and cleaning takes longer than all the rest
        data = to_json(storable_values(json.loads(data)))
    return Jsonb(data, dumps=bytes)


_UNSTORABLE = re.compile(rb"\\u(?:0000|d[89a-f])")


def storable_values(value: JsonValue) -> JsonValue:
    """`value` with every text in it storable."""
    match value:
        case str():
            return storable(value)
        case dict():
            return {storable(key): storable_values(item) for key, item in value.items()}
        case list():
            return [storable_values(item) for item in value]
        case _:
            return value
