"""Runs a function in a thread if its input is large, so that the event loop goes on meanwhile."""

import asyncio
from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

LARGE = 5_000
"""Words of a document. To store, load or judge more takes 5 to 10 ms and longer (measured), for which all
other documents and requests of the process would wait. To use a thread costs 0.15 ms."""

VALUE = 16
"""A value with its evidence takes as long to judge or to store as this many words."""

STORED_BYTES = 16
"""Bytes of a stored transcription that take as long to load as a word."""

RESULT_CHARACTERS = 40
"""Characters of a result's JSON that take as long to load and to check as a word."""

TEXT_CHARACTERS = 200
"""Characters of plain text that take as long to write as JSON as a word takes."""

_Arguments = TypeVarTuple("_Arguments")
_Value = TypeVar("_Value")


async def off_loop(function: Callable[[*_Arguments], _Value], *args: *_Arguments, size: float) -> _Value:
    """The result of `function`, called in a thread if `size` is above `LARGE`.

    size: of the input, in words of a document.
    """
    if size > LARGE:
        return await asyncio.to_thread(function, *args)
    return function(*args)
