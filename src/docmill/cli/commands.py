"""The commands and their options. What each does stands in a module of its own, loaded when it is called."""

import errno
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from docmill.cli.console import FAILED, USAGE, Aws, DataFolder, SettingsFile, give_up_stdout, stderr
from docmill.cli.vault import dead_letter_commands
from docmill.errors import DocmillError

app = typer.Typer(
    name="docmill",
    epilog="Settings come from docmill.toml and DOCMILL_… variables; `docmill doctor` says what is missing.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # its tracebacks show locals, and those hold document text
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="markdown",  # the other one keeps the line ends of docstrings, and eats [names]
)


app.add_typer(dead_letter_commands.app)


def main() -> None:
    """The program. Our own errors become one sentence and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # names of files need not be text, nor terminals know ours
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except DocmillError as error:
        stderr.print(f"docmill: {error.message}", style="red", markup=False)
        sys.exit(USAGE)
    except OSError as error:
        if error.filename is not None or error.errno not in {
            errno.ENOSPC,
            errno.EDQUOT,
            errno.EFBIG,
            errno.EIO,
        }:
            raise
        give_up_stdout()
        stderr.print(f"docmill: cannot print: {error.strerror}", style="red", markup=False)
        sys.exit(FAILED)
    except ModuleNotFoundError as error:
        stderr.print(
            f"docmill: this command needs {error.name!r}; run: pip install 'docmill[all]'", style="red"
        )
        sys.exit(USAGE)


def _tell_version(wanted: bool) -> None:  # noqa: FBT001  typer calls it so
    if wanted:
        from importlib.metadata import version

        typer.echo(f"docmill {version('docmill')}")
        raise typer.Exit


@app.callback()
def docmill(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", help="Say which docmill this is.", callback=_tell_version, is_eager=True),
    ] = False,
) -> None:
    """Documents in, trusted typed data out."""
    del version


Passwords = Annotated[
    list[str] | None,
    typer.Option(
        help="Tried on protected files; repeatable. Others see command lines: better the variable"
        " DOCUMENT_PASSWORD, one password a line.",
    ),
]
AskPassword = Annotated[bool, typer.Option("--ask-password", help="Ask for a password, unseen.")]


def _passwords(given: list[str] | None, *, ask: bool) -> tuple[str, ...]:
    from docmill.service.config.sources import passwords

    asked = [typer.prompt("Password", hide_input=True)] if ask else []
    return (*asked, *(given or passwords()))


SchemaPlace = Annotated[
    str,
    typer.Option(
        "--schema",
        metavar="FILE",
        help="What to read: order.json, order.toml, models.py:Order, or a schema of the settings by name.",
    ),
]
ModelFile = Annotated[
    Path | None, typer.Option("--model", help="What `docmill learn` wrote.", dir_okay=False, exists=True)
]
LabelsFile = Annotated[
    Path | None,
    typer.Option(
        "--labels", help="TOML or JSON: words beside each field's value.", dir_okay=False, exists=True
    ),
]


@app.command()
def run(
    folder: Annotated[Path, typer.Argument(help="A folder, read with its subfolders, or one file.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="JSON Lines file; an earlier run goes on from it.")
    ],
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes that read.", show_default="all cores")
    ] = None,
    config: SettingsFile = None,
    *,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over: drop what FILE holds.")] = False,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Try failed documents again.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be processed.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the summary.")] = False,
    max_mb: Annotated[
        int | None, typer.Option(min=1, help="Refuse larger files.", show_default="limits.file_mb, or 50")
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(min=1, help="Seconds per document.", show_default="limits.document_s, or 600"),
    ] = None,
    schema: Annotated[
        str | None, typer.Option(metavar="FILE", help="Read every document by it; see `docmill extract`.")
    ] = None,
    model: ModelFile = None,
    labels: LabelsFile = None,
    password: Passwords = None,
    ask_password: AskPassword = False,
) -> None:
    """Read every document of a folder and write what was found, one JSON line each.

    Engines, languages, splitting and limits come from docmill.toml and DOCMILL_… variables, as for the vault;
    options win over both. With nothing set, no document leaves this machine. An engine or model that works
    elsewhere is sent pages or text: where the docmill.toml of the current folder names one, the run says so
    first, and --config with another file, even an empty one, keeps documents here. --dry-run tells what an
    earlier run into the same file has done.

    Exit code: 0 every document was processed, 1 some failed (their record says why), 2 something must
    be changed first, 130 interrupted (after both, run it again to go on).
    """
    from docmill.cli.files.extract import schema_called
    from docmill.cli.files.run import RunOptions, run_folder
    from docmill.understanding.user_schemas.learned import model_in

    if schema is None and (model or labels):
        raise typer.BadParameter("--model and --labels belong to a --schema")
    options = RunOptions(
        folder=folder,
        out=out,
        jobs=jobs,
        fresh=fresh,
        retry_failed=retry_failed,
        dry_run=dry_run,
        quiet=quiet,
        max_bytes=None if max_mb is None else max_mb * 1_000_000,
        time_limit_s=time_limit,
        config=config,
        passwords=_passwords(password, ask=ask_password),
        schema=None if schema is None else schema_called(schema, labels, config),
        model=None if model is None else model_in(model),
    )
    raise typer.Exit(run_folder(options))


@app.command("eval")
def evaluate(
    folder: Annotated[Path, typer.Argument(help="A folder, read with its subfolders, or one file.")],
    truth: Annotated[
        Path, typer.Option(help="What is true: JSON Lines, JSON or CSV by file, or a folder of NAME.json.")
    ],
    schema: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Read all by it, or by the type of this name.", show_default="by their types"
        ),
    ] = None,
    model: ModelFile = None,
    labels: LabelsFile = None,
    records: Annotated[
        Path | None,
        typer.Option(help="Records of `docmill run`; what they lack is read and added.", dir_okay=False),
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(help="An earlier report to compare with.", dir_okay=False)
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where the report goes, as JSON.", dir_okay=False)
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Where a page with every error and its picture goes.", dir_okay=False)
    ] = None,
    max_regression: Annotated[
        float, typer.Option(min=0, max=100, help="Points that F1 may fall below the baseline.")
    ] = 0.5,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes that read.", show_default="all cores")
    ] = None,
    config: SettingsFile = None,
    *,
    month_first: Annotated[
        bool, typer.Option("--month-first", help="The truth means March 4th by 03/04/2026.")
    ] = False,
) -> None:
    """Say how much of a folder is read right, by what is true of it.

    Exit code: 0 measured, 1 worse than the baseline by more than is allowed and than chance explains,
    2 nothing was measured, 130 interrupted (with --records, run it again to go on).
    """
    from docmill.cli.files.eval import EvalOptions, evaluate
    from docmill.cli.files.extract import schema_called
    from docmill.understanding.user_schemas.learned import model_in

    if schema is None and (model or labels):
        raise typer.BadParameter("--model and --labels belong to a --schema")
    question = EvalOptions(
        folder=folder,
        truth=truth,
        schema=None if schema is None else schema_called(schema, labels, config),
        model=None if model is None else model_in(model),
        records=records,
        baseline=baseline,
        out=out,
        html=html,
        max_regression=max_regression,
        jobs=jobs,
        config=config,
        month_first=month_first,
    )
    raise typer.Exit(evaluate(question))


@app.command()
def extract(
    file: Annotated[Path, typer.Argument(help="The file to read.")],
    schema: SchemaPlace,
    model: ModelFile = None,
    labels: LabelsFile = None,
    config: SettingsFile = None,
    *,
    password: Passwords = None,
    ask_password: AskPassword = False,
) -> None:
    """Read one file by a schema of your own and print what it says as JSON, each value with its place.

    The name of a type that docmill knows (invoice, receipt, …) is a schema, too, and that of a table
    [schemas.NAME] of the settings. A Python file is run.
    """
    from docmill.cli.files.extract import extract_file

    passwords = _passwords(password, ask=ask_password)
    raise typer.Exit(
        extract_file(file, schema, model=model, labels=labels, config=config, passwords=passwords)
    )


@app.command()
def learn(
    folder: Annotated[
        Path | None, typer.Argument(help="Documents whose values are known.", exists=True)
    ] = None,
    schema: Annotated[
        str | None, typer.Option(metavar="FILE", help="How they are read; see `docmill extract`.")
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(help='JSON {"file.pdf": {"field": value}}, CSV with a column "file", or JSON Lines.'),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where the model goes.", dir_okay=False)
    ] = None,
    labels: LabelsFile = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes that read.", show_default="all cores")
    ] = None,
    reviewed: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Learn from the vault's reviewed documents, how [schemas.NAME] of the settings is read.",
        ),
    ] = None,
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read and compare; write nothing.")] = False,
) -> None:
    """Learn from documents with known values how a schema of your own is read.

    FOLDER with --schema, --truth and --out, or --reviewed. Says how many known values are read right before
    and after, each in documents held out; the model is only written if it reads them better, and the old one
    stays otherwise. Exit code: 0 written, 1 not better or nothing read, 2 nothing was done.
    """
    if reviewed is not None:
        from docmill.cli.vault.relearning import RelearnOptions, relearn

        if folder or schema or truth or labels or jobs:
            raise typer.BadParameter("--reviewed goes with --out, --config, --data-dir and --dry-run alone")
        raise typer.Exit(relearn(RelearnOptions(reviewed, out, config, data_dir, dry_run)))
    from docmill.cli.files.learn import LearnOptions
    from docmill.cli.files.learn import learn as learn_from_folder

    if folder is None or schema is None or truth is None or out is None:
        raise typer.BadParameter("give FOLDER, --schema, --truth and --out, or --reviewed")
    raise typer.Exit(
        learn_from_folder(LearnOptions(folder, schema, truth, out, labels, jobs, dry_run, config))
    )


@app.command()
def up(
    config: SettingsFile = None,
    data_dir: Annotated[Path | None, typer.Option(help="Where everything is kept.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Where the vault listens on this machine.")
    ] = None,
    *,
    aws: Aws = False,
) -> None:
    """Start the vault: web pages, API and worker, until Ctrl-C."""
    from docmill.cli.vault.contents import load_settings
    from docmill.cli.vault.serving import up

    raise typer.Exit(up(load_settings(config, data_dir, port, aws=aws)))


@app.command()
def web(
    config: SettingsFile = None,
    data_dir: Annotated[Path | None, typer.Option(help="Where everything is kept.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Where the vault listens on this machine.")
    ] = None,
    *,
    aws: Aws = False,
) -> None:
    """Start web pages and API without a worker, until Ctrl-C. Any number may run on one database."""
    from docmill.cli.vault.contents import load_settings
    from docmill.cli.vault.serving import web

    raise typer.Exit(web(load_settings(config, data_dir, port, aws=aws)))


@app.command()
def worker(
    config: SettingsFile = None,
    data_dir: Annotated[Path | None, typer.Option(help="Where everything is kept.")] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, help="Where it answers /healthz, /readyz, /metrics.", show_default="nowhere"
        ),
    ] = None,
    *,
    aws: Aws = False,
) -> None:
    """Start a worker without web pages, until Ctrl-C. Any number may run on one database."""
    from docmill.cli.vault.contents import load_settings
    from docmill.cli.vault.serving import worker

    raise typer.Exit(worker(load_settings(config, data_dir, worker_port=port, aws=aws)))


@app.command()
def demo(
    *,
    serve: Annotated[
        bool | None,
        typer.Option("--serve/--no-serve", help="Keep the vault open.", show_default="in a terminal"),
    ] = None,
    data_dir: Annotated[
        Path | None, typer.Option(help="Where the demo is kept.", show_default="a folder of its own")
    ] = None,
) -> None:
    """Put sample documents through docmill and print what was read."""
    from docmill.cli.vault.demo import demo

    raise typer.Exit(demo(data_dir, serve=sys.stdout.isatty() if serve is None else serve))


@app.command()
def add(
    files: Annotated[list[Path], typer.Argument(help="Files to put into the vault.", metavar="FILE…")],
    config: SettingsFile = None,
    data_dir: Annotated[Path | None, typer.Option(help="Where everything is kept.")] = None,
    *,
    force: Annotated[bool, typer.Option("--force", help="Process again what is already there.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until each is processed.")] = False,
    password: Annotated[
        str | None,
        typer.Option(help="What opens protected files; better the variable DOCUMENT_PASSWORD."),
    ] = None,
    ask_password: AskPassword = False,
) -> None:
    """Put files into the vault. Exit code 1 if any was refused or, with --wait, failed."""
    from docmill.cli.vault.contents import add, load_settings

    given = _passwords([password] if password else None, ask=ask_password)
    settings = load_settings(config, data_dir)
    raise typer.Exit(add(settings, files, force=force, wait=wait, password=given[0] if given else ""))


@app.command()
def show(
    document: Annotated[
        str, typer.Argument(help="The beginning of its file name, or the beginning or end of its id.")
    ],
    config: SettingsFile = None,
    data_dir: Annotated[Path | None, typer.Option(help="Where everything is kept.")] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Everything, as JSON.")] = False,
) -> None:
    """Show what the vault knows about a document."""
    from docmill.cli.vault.contents import load_settings, show

    raise typer.Exit(show(load_settings(config, data_dir), document, as_json=as_json))


@app.command()
def status(
    config: SettingsFile = None,
    data_dir: Annotated[Path | None, typer.Option(help="Where everything is kept.")] = None,
) -> None:
    """Show how many documents there are in which state, and what waits."""
    from docmill.cli.vault.contents import load_settings, status

    raise typer.Exit(status(load_settings(config, data_dir)))


@app.command()
def doctor(config: SettingsFile = None) -> None:
    """Say what this machine lacks and how to get it. Exit code 1 if something needed is missing."""
    from docmill.cli.doctor import doctor

    raise typer.Exit(doctor(config))
