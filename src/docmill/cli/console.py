"""Exit codes, printing and common options of the commands."""

import logging
import os
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Annotated

import typer
from rich.console import Console

from docmill.errors import MisconfiguredError

FAILED = 1
"""Done, with documents or checks that failed."""

USAGE = 2
"""Nothing was done: a person must change something first."""

INTERRUPTED = 130
"""Ended by Ctrl-C."""


stdout = Console(highlight=False, soft_wrap=True)
stderr = Console(stderr=True, highlight=False, soft_wrap=True)

ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]

MARKS = {
    "completed": "[green]✓[/green]",
    "ready": "[green]✓[/green]",
    "needs_review": "[blue]?[/blue]",
    "needs_classification": "[yellow]?[/yellow]",
    "not_read": "[yellow]○[/yellow]",
    "processing": "[blue]…[/blue]",
    "stale": "[yellow]![/yellow]",
    "failed": "[red]✗[/red]",
    "unchanged": "[dim]=[/dim]",
}
"""A document's outcome or state, told by shape and colour."""


def counted(count: int, one: str, many: str = "") -> str:
    """`1 page`, `2 pages`. many: where an s is not enough."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def give_up_stdout() -> None:
    """Discard all further standard output, also what the interpreter writes at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def shown(name: str) -> str:
    """Return `name` on one line, with control characters escaped."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in name)


class PlacesFormatter(logging.Formatter):
    """Formats exceptions as types and places only: their messages may quote the document."""

    def formatException(self, ei: ExcInfo) -> str:  # noqa: N802  the library's name
        """See `logging.Formatter.formatException`."""
        kind, _, trace = ei
        places = (f"  {frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(trace))
        return "\n".join([kind.__name__ if kind else "", *places])


SettingsFile = Annotated[
    Path | None, typer.Option("--config", help="Settings file.", show_default="docmill.toml", dir_okay=False)
]
Aws = Annotated[bool, typer.Option("--aws", help="Keep queue and files in AWS: SQS and S3.")]
DataFolder = Annotated[Path | None, typer.Option("--data-dir", help="Where everything is kept.")]
Json = Annotated[bool, typer.Option("--json", help="As JSON.")]


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
