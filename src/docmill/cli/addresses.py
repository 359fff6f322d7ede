"""Where the web servers on a data folder listen, so that other commands find them."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen
from uuid import uuid4

_ANSWER_S = 2


@contextmanager
def announced(folder: Path, address: str) -> Generator[None]:
    """Let `address` be found on this data folder; one that outlives its server does no harm."""
    place = folder / "addresses"
    place.mkdir(parents=True, exist_ok=True)
    file = place / uuid4().hex
    file.write_text(address)
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def address_of(folder: Path) -> str | None:
    """Where a web server on this data folder answers now, or None."""
    for file in sorted((folder / "addresses").glob("*")):
        try:
            address = file.read_text()
            with urlopen(f"{address}healthz", timeout=_ANSWER_S):  # noqa: S310  written by ourselves
                return address
        except HTTPError:
            continue  # it lives, and has no database
        except URLError as error:
            if isinstance(error.reason, ConnectionRefusedError):  # it was killed
                file.unlink(missing_ok=True)
        except (OSError, ValueError):
            continue
    return None
