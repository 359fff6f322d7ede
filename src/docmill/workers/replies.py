"""Unpickling of a child's replies: a child taken over by a hostile file must not take over its parent."""

import io
import pickle
from dataclasses import is_dataclass
from typing import Any, cast

from docmill.errors import TooLargeError

_MALFORMED = (
    pickle.UnpicklingError,
    ArithmeticError,
    AttributeError,
    EOFError,
    ImportError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)
"""Errors that unpickling raises on a reply that was made to harm."""

# Instructions of protocol 5 as our children write it, with the bytes of their argument. Others are refused:
# by one that stores at a number of its choice, five bytes would take the parent's memory.
_FIXED = {
    **dict.fromkeys(b"()tR]}beasuN.", 0),
    **dict.fromkeys(b"\x81\x85\x86\x87\x88\x89\x8f\x90\x91\x92\x93\x94", 0),
    **dict.fromkeys(b"\x80Kh", 1),
    **dict.fromkeys(b"M", 2),
    **dict.fromkeys(b"Jj", 4),
    **dict.fromkeys(b"\x95G", 8),
}
# Those whose argument says first how long it is, with the bytes of that number.
_COUNTED = {
    **dict.fromkeys(b"\x8cC\x8a", 1),
    **dict.fromkeys(b"XB", 4),
    **dict.fromkeys(b"\x8d\x8e\x96", 8),
}


class OutOfMemoryError(TooLargeError):
    """The task needed more than its process may allocate, or than what earlier tasks left of that."""


def package_of(function: object) -> str:
    """The package directly below `docmill` in which a function stands; empty for anybody else's."""
    parts = str(getattr(function, "__module__", "")).split(".")
    return ".".join(parts[:2]) if parts[0] == "docmill" and parts[2:] else ""


def loads(content: bytes, package: str = "") -> Any:  # noqa: ANN401  whatever was answered
    """The reply. Raises ValueError if it makes no sense or could do harm.

    package: the package of the function that was asked; its records may stand in the reply.
    """
    at, end = 0, len(content)
    while at < end:
        instruction = content[at]
        size = _FIXED.get(instruction)
        if size is None:
            width = _COUNTED.get(instruction)
            if width is None:
                raise ValueError(f"a reply with the instruction {instruction:#x}")
            size = width + int.from_bytes(content[at + 1 : at + 1 + width], "little")
        at += 1 + size
    if at != end:
        raise ValueError("a reply that ends too early")
    try:
        return _Unpickler(io.BytesIO(content), package).load()
    except _MALFORMED as error:
        raise ValueError(f"a reply that cannot be read: {type(error).__name__}") from error


class _Unpickler(pickle.Unpickler):
    """Builds the classes of the model, errors, and the named tuples and dataclasses of one package."""

    _FOR_ALL = ("docmill.model.", "docmill.errors")
    _NAMES = frozenset(
        {
            ("docmill.workers.replies", "OutOfMemoryError"),
            ("numpy", "dtype"),
            ("numpy", "ndarray"),
            ("numpy._core.multiarray", "_reconstruct"),
            ("numpy._core.numeric", "_frombuffer"),
        }
    )

    def __init__(self, content: io.BytesIO, package: str) -> None:
        super().__init__(content)
        self._package = package

    def find_class(self, module_name: str, global_name: str, /) -> type:
        """A class that a reply may hold. Raises UnpicklingError for every other name."""
        if (module_name, global_name) in self._NAMES:
            return super().find_class(module_name, global_name)
        is_for_all = module_name.startswith(self._FOR_ALL)
        is_of_package = bool(self._package) and module_name.startswith(f"{self._package}.")
        if (is_for_all or is_of_package) and "." not in global_name:
            reply_class: object = super().find_class(module_name, global_name)
            if isinstance(reply_class, type) and reply_class.__module__ == module_name:
                # Named tuples and dataclasses do nothing when they are made.
                is_record = is_dataclass(cast("object", reply_class)) or tuple in reply_class.__mro__
                if is_for_all or is_record:
                    return reply_class
        raise pickle.UnpicklingError(f"{module_name}.{global_name} may not stand in this reply")
