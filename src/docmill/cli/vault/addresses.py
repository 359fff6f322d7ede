"""Address files of the web servers on a data folder, so that other commands find them."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen
from uuid import uuid4

from docmill.service.observe.health import VAULT_HEADER

_ANSWER_S = 2


@contextmanager
def announced(folder: Path, address: str, vault_id: str) -> Generator[None]:
    """Publish `address` in this data folder; a file that outlives its server does no harm.

    vault_id: that the server answers with. Another vault's may answer there later.
    """
    place = folder / "addresses"
    place.mkdir(parents=True, exist_ok=True)
    file = place / uuid4().hex
    file.write_text(f"{address}\n{vault_id}")
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def address_of(folder: Path) -> str | None:
    """Return the address at which a web server on this data folder answers now, or None."""
    for file in sorted((folder / "addresses").glob("*")):
        try:
            address, _, vault_id = file.read_text().partition("\n")
            with urlopen(f"{address}healthz", timeout=_ANSWER_S) as answer:  # noqa: S310  written by ourselves
                if answer.headers.get(VAULT_HEADER, "") == vault_id:  # a release of before tells none
                    return address
            file.unlink(missing_ok=True)  # it was killed, and another vault has its port
        except HTTPError:
            continue  # it lives, and has no database
        except URLError as error:
            if isinstance(error.reason, ConnectionRefusedError):  # it was killed
                file.unlink(missing_ok=True)
        except (OSError, ValueError):
            continue
    return None
