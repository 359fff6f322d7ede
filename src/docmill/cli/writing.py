"""What commands write besides records."""

from contextlib import suppress
from pathlib import Path

from docmill.errors import MisconfiguredError


def put(path: Path, text: str) -> None:
    """Write all of it or nothing: somebody may be reading the old one, and nobody reads half of the new.

    Folders that are not there are made. Raises MisconfiguredError where it cannot be written.
    """
    new = path.with_name(f"{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(text, encoding="utf-8")
        new.replace(path)
    except OSError as error:
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise MisconfiguredError(f"cannot write {str(path)!r}: {error.strerror}") from error
