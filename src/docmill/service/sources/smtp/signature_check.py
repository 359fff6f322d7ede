"""Verification of DKIM signatures, in a child process: bodies are large, and the library holds the GIL."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

_MOST_SIGNATURES = 5
"""A mail can have any number of them, and each costs a look-up and a pass over the body."""


def signatures(header: bytes) -> list[tuple[str, str]]:
    """Domain of each signature of a header, and the name of the record with its key; the first five.

    Signatures of a part of the body alone are left out: what follows it could be anybody's.
    """
    import dkim  # noqa: PLC0415  an extra
    from dkim import util  # noqa: PLC0415

    library: Any = dkim  # it has no types
    library_util: Any = util
    try:
        fields: list[tuple[bytes, bytes]] = library.rfc822_parse(header)[0]
    except library.MessageFormatError:
        return []
    found: list[tuple[str, str]] = []
    for name, value in fields:
        if name.lower() != b"dkim-signature" or len(found) == _MOST_SIGNATURES:
            continue
        try:
            tags: dict[bytes, bytes] = library_util.parse_tag_value(value)
            domain, selector = tags[b"d"].decode("ascii").lower(), tags[b"s"].decode("ascii").lower()
            is_whole = b"l" not in tags
        except (library_util.InvalidTagValueList, KeyError, UnicodeDecodeError):
            is_whole, domain, selector = False, "", ""
        found.append((domain, f"{selector}._domainkey.{domain}") if is_whole else ("", ""))
    return found


def load_verifier() -> None:
    """Load the library, for a process whose children will need it."""
    import_module("dkim")


def verified(path: Path, records: Mapping[str, bytes]) -> list[bool]:
    """The signatures of a mail, in the order of `signatures`: True for each that is valid.

    records: with the keys, by name.
    """
    import dkim  # noqa: PLC0415

    library: Any = dkim
    content = path.read_bytes()

    def look_up(name: bytes, timeout: float = 0) -> bytes | None:
        del timeout
        return records.get(name.decode("ascii", "replace").rstrip(".").lower())

    results: list[bool] = []
    try:
        message = library.DKIM(content)
        count = sum(name.lower() == b"dkim-signature" for name, _ in message.headers)
    except library.DKIMException:
        return []
    for index in range(min(count, _MOST_SIGNATURES)):
        try:
            results.append(bool(library.DKIM(content).verify(index, dnsfunc=look_up)))
        except (
            dkim.DKIMException,
            ValueError,
            KeyError,
            IndexError,
            TypeError,
        ):  # also faults of the library
            results.append(False)
    return results
