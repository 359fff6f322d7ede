"""Sources of settings. Apart from their classes, which need not be loaded where nothing is set."""

import os
from pathlib import Path

PREFIX = "DOCMILL_"
SOURCE_SECRET = "DOCMILL_SECRET_"  # noqa: S105  the beginning of the names of variables
"""With the name of a secret of a document source behind it; no setting has such a name."""
PASSWORDS = "DOCUMENT_PASSWORD"
DEFAULT_FILE = Path("docmill.toml")


def variables() -> list[str]:
    """The names of the environment variables that are meant for settings."""
    return sorted(
        name for name in os.environ if name.startswith(PREFIX) and not name.startswith(SOURCE_SECRET)
    )


def are_given(file: Path | None) -> bool:
    """True if anything is set, in the file that was named, the usual one or the environment."""
    return file is not None or DEFAULT_FILE.is_file() or bool(variables())


def passwords() -> tuple[str, ...]:
    """Passwords for protected files from the environment: one a line, since a password may contain blanks."""
    return tuple(line for line in os.environ.get(PASSWORDS, "").splitlines() if line)
