"""Models of own schemas in files."""

from pathlib import Path

from docmill.errors import MisconfiguredError
from docmill.understanding.own.learned import dumps, loads


def model_in(path: Path) -> str:
    """What was learned, without the lessons. Raises MisconfiguredError if the file holds no model."""
    try:
        return dumps(loads(path.read_text(encoding="utf-8")).worn())
    except (OSError, UnicodeDecodeError) as error:
        raise MisconfiguredError(f"cannot read the model {str(path)!r}") from error
