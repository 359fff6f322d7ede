"""The commands and their options. The module that does the work is loaded when its command is called."""

import errno
import os
import sys
from collections.abc import Callable
from functools import wraps
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import typer

from docmill.cli.console import (
    FAILED,
    USAGE,
    DataFolder,
    Jobs,
    LabelsFile,
    SettingsFile,
    TenantName,
    give_up_stdout,
    stderr,
)
from docmill.cli.files import folder_commands, runs_commands
from docmill.cli.vault import (
    aws_commands,
    backup_commands,
    content_commands,
    dead_letter_commands,
    export_commands,
    import_commands,
    learned_commands,
    match_commands,
    people_commands,
    serving_commands,
    source_commands,
    webhook_commands,
)
from docmill.cli.vault.notify_commands import app as notify_commands
from docmill.errors import DocmillError
from docmill.text_input import check_texts

app = typer.Typer(
    name="docmill",
    epilog="Settings come from docmill.toml and DOCMILL_… variables; `docmill doctor` says what is missing.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # its tracebacks show locals, and those hold document text
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="markdown",  # the other one keeps the line ends of docstrings, and eats [names]
)
app.add_typer(serving_commands.app)
app.add_typer(content_commands.app)
app.add_typer(folder_commands.app)
app.add_typer(runs_commands.app)
app.add_typer(match_commands.app)
app.add_typer(dead_letter_commands.app)
app.add_typer(people_commands.users)
app.add_typer(people_commands.tenants)
app.add_typer(source_commands.app)
app.add_typer(webhook_commands.app)
app.add_typer(export_commands.app)
app.add_typer(import_commands.app)
app.add_typer(backup_commands.app)
app.add_typer(notify_commands)
app.add_typer(learned_commands.app)
app.add_typer(aws_commands.app)


def main() -> None:
    """Run the program; our own errors become one sentence and an exit code."""
    os.umask(0o077)  # what it writes holds texts of documents, and is for its user alone
    if sys.getfilesystemencoding() != "utf-8":
        message = (
            "docmill: it needs names of files to be text in UTF-8, and by the locale here they are"
            f" {sys.getfilesystemencoding()!r}; set LC_ALL=C.UTF-8, or PYTHONUTF8=1"
        )
        stderr.print(message, style="red", markup=False)
        sys.exit(USAGE)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # file names need not be text, nor terminals know our encoding
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except DocmillError as error:
        stderr.print(f"docmill: {error.message}", style="red", markup=False)
        sys.exit(USAGE)
    except OSError as error:
        disk_errors = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
        if error.filename is not None or error.errno not in disk_errors:
            raise
        give_up_stdout()
        stderr.print(f"docmill: cannot print: {error.strerror}", style="red", markup=False)
        sys.exit(FAILED)
    except ModuleNotFoundError as error:
        message = f"docmill: this command needs {error.name!r}; run: pip install 'docmill[all]'"
        stderr.print(message, style="red", markup=False)
        sys.exit(USAGE)


def _print_version(wanted: bool) -> None:  # noqa: FBT001  typer calls it so
    if wanted:
        from importlib.metadata import version

        typer.echo(f"docmill {version('docmill')}")
        raise typer.Exit


@app.callback()
def docmill(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Documents in, trusted typed data out."""
    del version


@app.command()
def learn(
    folder: Annotated[
        Path | None, typer.Argument(help="Documents whose values are known.", exists=True)
    ] = None,
    schema: Annotated[
        str | None, typer.Option(metavar="FILE", help="Schema of the documents; see `docmill extract`.")
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(help='JSON {"file.pdf": {"field": value}}, CSV with a column "file", or JSON Lines.'),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File for the model.", dir_okay=False)
    ] = None,
    labels: LabelsFile = None,
    jobs: Jobs = None,
    reviewed: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Learn from the vault's reviewed documents, for [schemas.NAME] of the settings.",
        ),
    ] = None,
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read and compare; write nothing.")] = False,
) -> None:
    """Train a model for a schema of your own on documents with known values.

    Give FOLDER with --schema, --truth and --out, or --reviewed. Prints how many known values are read right
    before and after, each in documents held out. The model is only written if it reads them better, and the
    old one stays otherwise. Exit code: 0 written, 1 not better or nothing read, 2 nothing was done.
    """
    if reviewed is not None:
        from docmill.cli.vault.relearning import RelearnOptions, relearn

        if folder or schema or truth or labels or jobs:
            raise typer.BadParameter("--reviewed goes with --out, --config, --data-dir and --dry-run alone")
        raise typer.Exit(relearn(RelearnOptions(reviewed, out, config, data_dir, dry_run, tenant)))
    from docmill.cli.files.learn import LearnOptions
    from docmill.cli.files.learn import learn as learn_from_folder

    if folder is None or schema is None or truth is None or out is None:
        raise typer.BadParameter("give FOLDER, --schema, --truth and --out, or --reviewed")
    raise typer.Exit(
        learn_from_folder(LearnOptions(folder, schema, truth, out, labels, jobs, dry_run, config))
    )


@app.command()
def doctor(
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    *,
    fix: Annotated[
        bool,
        typer.Option("--fix", help="Close files of the vault that other users of this machine may read."),
    ] = False,
) -> None:
    """Check what this machine lacks, and say how to get it. Exit code 1 if something needed is missing."""
    from docmill.cli.doctor import doctor

    raise typer.Exit(doctor(config, data_dir, fix=fix))


def _with_checked_texts(call: Callable[..., Any]) -> Callable[..., Any]:
    """The function of a command, which refuses texts that cannot be stored. Paths may have any bytes."""

    @wraps(call)
    def checked(**arguments: Any) -> Any:  # noqa: ANN401  of any command
        check_texts(arguments)
        return call(**arguments)

    return checked


def _check_texts_of(commands: typer.Typer) -> None:
    for command in commands.registered_commands:
        assert command.callback is not None, "a command has a function"
        command.callback = _with_checked_texts(command.callback)
    for group in commands.registered_groups:
        assert group.typer_instance is not None, "a group has commands"
        _check_texts_of(group.typer_instance)


_check_texts_of(app)
