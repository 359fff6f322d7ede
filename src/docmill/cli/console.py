"""Exit codes, printing and common options of the commands."""

import logging
import os
import sys
import traceback
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, Literal
from uuid import UUID

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
    "rejected": "[yellow]○[/yellow]",
    "processing": "[blue]…[/blue]",
    "stale": "[yellow]![/yellow]",
    "failed": "[red]✗[/red]",
    "unchanged": "[dim]=[/dim]",
}
"""A document's outcome or state, told by shape and colour."""


def counted(count: int, noun: str, plural: str = "") -> str:
    """Format a number with its noun: `1 page`, `2 pages`. plural: if it is not the noun with an s."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def exit_after(work: Coroutine[Any, Any, int]) -> None:
    """Run a command to its end; its result is the exit code of the program."""
    import asyncio  # noqa: PLC0415  a command loads what it needs when it is called

    raise typer.Exit(asyncio.run(work))


def parse_id(text: str) -> UUID:
    """An id that a person typed, whole."""
    try:
        return UUID(text)
    except ValueError as error:
        raise typer.BadParameter(
            f"{text!r} is no id, such as 019ab2c4-0000-7000-8000-000000000000"
        ) from error


def give_up_stdout() -> None:
    """Discard all further standard output, also what the interpreter writes at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def local_time(moment: datetime) -> str:
    """A moment by the clock of this machine, to the minute."""
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"


def shown(name: str) -> str:
    """Return `name` on one line, with control characters escaped."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in name)


class PlacesFormatter(logging.Formatter):
    """Formats exceptions as types and places only: their messages may quote the document.

    Those of reading processes come as the attributes `error` and `traceback` of their records.
    """

    def format(self, record: logging.LogRecord) -> str:
        """See `logging.Formatter.format`."""
        words, trace = super().format(record), getattr(record, "traceback", None)
        if not isinstance(trace, str):
            return words
        return "\n".join([words, shown(str(getattr(record, "error", ""))), *map(shown, trace.splitlines())])

    def formatException(self, ei: ExcInfo) -> str:  # noqa: N802  the library's name
        """See `logging.Formatter.formatException`."""
        kind, _, trace = ei
        places = (f"  {frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(trace))
        return "\n".join([kind.__name__ if kind else "", *places])


def put(path: Path, text: str) -> None:
    """Write a file atomically, so that a reader gets the old text or the new one; folders are created.

    Raises MisconfiguredError if it cannot be written.
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


SettingsFile = Annotated[
    Path | None, typer.Option("--config", help="Settings file.", show_default="docmill.toml", dir_okay=False)
]
ReplaceFile = Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")]
DataFolder = Annotated[Path | None, typer.Option("--data-dir", help="Folder of database and files.")]
TenantName = Annotated[
    str | None,
    typer.Option(
        "--tenant",
        help="Organisation, by its name or id.",
        show_default="tenant of the settings, or the first",
    ),
]
WebPort = Annotated[int | None, typer.Option(min=0, max=65535, help="Port of pages and API.")]
Aws = Annotated[bool, typer.Option("--aws", help="Keep queue and files in AWS: SQS and S3.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Folder = Annotated[Path, typer.Argument(help="A folder, read with its subfolders, or one file.")]
Jobs = Annotated[
    int | None,
    typer.Option(min=1, help="Number of processes that read.", show_default="one for each core"),
]
Passwords = Annotated[
    list[str] | None,
    typer.Option(
        help="Password for protected files; can be repeated. Other users of this machine can see it; the"
        " variable DOCUMENT_PASSWORD is safer (one password a line).",
    ),
]
AskPassword = Annotated[bool, typer.Option("--ask-password", help="Ask for a password, without showing it.")]
EngineName = Annotated[
    Literal["local", "ray"],
    typer.Option(
        "--engine", help="Where documents of the pipeline are worked on: here, or on a Ray cluster."
    ),
]
RayAddress = Annotated[
    str | None,
    typer.Option(
        help="Address of the Ray cluster; implies --engine ray.",
        show_default="RAY_ADDRESS, or Ray on this machine for as long as the run lasts",
    ),
]
ModelFile = Annotated[
    Path | None,
    typer.Option("--model", help="Model written by `docmill learn`.", dir_okay=False, exists=True),
]
LabelsFile = Annotated[
    Path | None,
    typer.Option(
        "--labels",
        help="TOML or JSON file with the words printed beside each field's value.",
        dir_okay=False,
        exists=True,
    ),
]


def given_passwords(given: list[str] | None, *, ask: bool) -> tuple[str, ...]:
    """The passwords to try on protected files: asked for, as options, or of the environment."""
    from docmill.service.config.sources import passwords  # noqa: PLC0415  a command loads what it needs

    asked = [typer.prompt("Password", hide_input=True)] if ask else []
    return (*asked, *(given or passwords()))


def print_still_wrong(counts: Mapping[str, tuple[int, int]]) -> None:
    """Print the fields that learning does not help, whose values a person is asked about.

    counts: by path, in how many documents that were held out the field was read right, and of how many.
    """
    for path, (right, known) in counts.items():
        stdout.print(
            f"  {path}: read right in {right} of {known}, so it will mostly be asked about", markup=False
        )
