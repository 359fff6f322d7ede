"""PDFium's functions as they are.

pypdfium2's own bindings convert every argument, which takes longer than what is called.
"""

import ctypes
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

Pointer: TypeAlias = ctypes.c_void_p
Call: TypeAlias = Callable[..., Any]


def address(function_or_handle: Any) -> int:  # noqa: ANN401 - ctypes' pointers have no common type
    """Where something of PDFium's lies in memory."""
    return ctypes.cast(function_or_handle, ctypes.c_void_p).value or 0


def unconverted(function: Any, result: type, *arguments: type) -> Call:  # noqa: ANN401 - as above
    """A function of PDFium's that takes addresses, and numbers, as plain integers."""
    return ctypes.CFUNCTYPE(result, *arguments)(address(function))


def exhaust(calls: Iterable[object]) -> None:
    """Make calls that leave their results in memory."""
    deque(calls, maxlen=0)
