"""Office files under a password: Open XML in its encrypted wrapping (MS-OFFCRYPTO), and old workbooks."""

import io
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from struct import error as StructError  # noqa: N812 - the library's name says nothing by itself
from typing import Any
from xml.parsers.expat import ExpatError

from docmill.errors import EncryptedError

LOCKED = "the file is protected by a password; give the password, or save the file without one"
NOT_OPENED = "the password does not open the file; give the right one, or save the file without one"
IN_OTHER_WAYS = "the file is protected in a way that cannot be opened here; save it without, and use that"
OF_EXCEL = "VelvetSweatshop"
"""Excel protects workbooks with it, and opens them without asking."""
OLE_START = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

_MALFORMED = (
    OSError,
    ValueError,
    RuntimeError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    StructError,
    ExpatError,
)


@contextmanager
def open_unlocked(path: Path, passwords: Sequence[str]) -> Generator[Path]:
    """The file, or for the length of the block a copy without its password, if one of these opens it.

    Raises EncryptedError if none does.
    """
    if not is_locked(path):
        yield path
        return
    with tempfile.NamedTemporaryFile(prefix="opened-") as copy:
        copy.write(decrypt(path, passwords))
        copy.flush()
        yield Path(copy.name)


def is_locked(path: Path) -> bool:
    """True for an Office file with a password."""
    with path.open("rb") as file:
        if file.read(len(OLE_START)) != OLE_START:
            return False
        office = _office(file)
        try:
            return office is not None and bool(office.is_encrypted())
        except (*_failures(), *_MALFORMED):
            return False


def decrypt(path: Path, passwords: Sequence[str]) -> bytes:
    """The file without its password, given or Excel's own. Raises EncryptedError if none opens it."""
    from msoffcrypto.exceptions import InvalidKeyError  # noqa: PLC0415 - see `_office`

    for password in (*passwords, OF_EXCEL):
        copy = io.BytesIO()
        with path.open("rb") as file:
            office: Any = _office(file)
            try:
                office.load_key(password=password)
                office.decrypt(copy)
            except InvalidKeyError:
                continue
            except (*_failures(), *_MALFORMED) as error:
                raise EncryptedError(IN_OTHER_WAYS) from error
        if copy.tell():
            return copy.getvalue()
    raise EncryptedError(NOT_OPENED if passwords else LOCKED)


def _office(file: io.BufferedReader) -> Any | None:  # noqa: ANN401 - untyped
    """The library's object for the file; None if it is no Office file."""
    # Here, since it takes a fifth of a second, and few files need it.
    from msoffcrypto import OfficeFile  # noqa: PLC0415 # pyright: ignore[reportUnknownVariableType] - untyped

    try:
        return OfficeFile(file)
    except (*_failures(), *_MALFORMED):
        return None


def _failures() -> tuple[type[Exception], ...]:
    from msoffcrypto import exceptions  # noqa: PLC0415 - see `_office`

    return (exceptions.FileFormatError, exceptions.ParseError, exceptions.DecryptionError)
