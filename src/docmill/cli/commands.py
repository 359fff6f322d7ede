"""The commands and their options. The module that does the work is loaded when its command is called."""

import errno
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from docmill.cli.console import (
    FAILED,
    USAGE,
    AskPassword,
    Aws,
    DataFolder,
    Folder,
    Jobs,
    Json,
    LabelsFile,
    ModelFile,
    Passwords,
    SettingsFile,
    TenantName,
    WebPort,
    exit_after,
    give_up_stdout,
    stderr,
)
from docmill.cli.vault import (
    backup_commands,
    dead_letter_commands,
    export_commands,
    learned_commands,
    people_commands,
)
from docmill.cli.vault.notify_commands import app as notify_commands
from docmill.errors import DocmillError

if TYPE_CHECKING:
    from docmill.model.result import Schema

app = typer.Typer(
    name="docmill",
    epilog="Settings come from docmill.toml and DOCMILL_… variables; `docmill doctor` says what is missing.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # its tracebacks show locals, and those hold document text
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="markdown",  # the other one keeps the line ends of docstrings, and eats [names]
)
app.add_typer(dead_letter_commands.app)
app.add_typer(people_commands.users)
app.add_typer(people_commands.tenants)
app.add_typer(export_commands.app)
app.add_typer(backup_commands.app)
app.add_typer(notify_commands)
app.add_typer(learned_commands.app)


def main() -> None:
    """Run the program; our own errors become one sentence and an exit code."""
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


def _passwords(given: list[str] | None, *, ask: bool) -> tuple[str, ...]:
    from docmill.service.config.sources import passwords

    asked = [typer.prompt("Password", hide_input=True)] if ask else []
    return (*asked, *(given or passwords()))


def _load_schema(
    name: str | None, model: Path | None, labels: Path | None, config: Path | None
) -> tuple["Schema | None", str | None]:
    """Load the schema and the text of its model."""
    from docmill.cli.files.extract import schema_called
    from docmill.understanding.user_schemas.schema_model import model_in

    if name is None:
        if model or labels:
            raise typer.BadParameter("--model and --labels need a --schema")
        return None, None
    return schema_called(name, labels, config), None if model is None else model_in(model)


RecordFile = Annotated[
    Path, typer.Option("--out", "-o", help="JSON Lines file for the records; if it exists, the run goes on.")
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Start over and delete the records in FILE.")]
RetryFailed = Annotated[bool, typer.Option("--retry-failed", help="Try failed documents again.")]
RunPlan = Annotated[bool, typer.Option("--dry-run", help="List what would be read; write nothing.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the summary.")]
MaxMegabytes = Annotated[
    int | None, typer.Option(min=1, help="Refuse larger files.", show_default="limits.file_mb, or 50")
]
TimeLimit = Annotated[
    float | None, typer.Option(min=1, help="Seconds per document.", show_default="limits.document_s, or 600")
]
SchemaOfAll = Annotated[
    str | None, typer.Option(metavar="FILE", help="Schema for every document; see `docmill extract`.")
]

TypeOfAll = Annotated[
    str | None,
    typer.Option("--type", help="Type of every document, as you know it.", show_default="recognised"),
]


@app.command()
def run(
    folder: Folder,
    out: RecordFile,
    jobs: Jobs = None,
    config: SettingsFile = None,
    *,
    fresh: Fresh = False,
    retry_failed: RetryFailed = False,
    dry_run: RunPlan = False,
    quiet: Quiet = False,
    max_mb: MaxMegabytes = None,
    time_limit: TimeLimit = None,
    schema: SchemaOfAll = None,
    model: ModelFile = None,
    labels: LabelsFile = None,
    document_type: TypeOfAll = None,
    password: Passwords = None,
    ask_password: AskPassword = False,
) -> None:
    """Read every document of a folder and write the results, one JSON line each.

    Engines, languages, splitting and limits come from docmill.toml and DOCMILL_… variables, as for the vault;
    options win over both. With nothing set, no document leaves this machine. An engine or model that works
    elsewhere is sent pages or text: where the docmill.toml of the current folder names one, the run says so
    first, and --config with another file, even an empty one, keeps documents here.

    Exit code: 0 every document was processed, 1 some failed (their record says why), 2 something must
    be changed first, 130 interrupted (after both, run it again to go on).
    """
    from docmill.cli.files.run import RunOptions, run_folder

    if str(out) == "-":
        raise typer.BadParameter("give a file, from which an interrupted run can go on", param_hint="--out")
    loaded_schema, loaded_model = _load_schema(schema, model, labels, config)
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
        document_type=document_type,
        passwords=_passwords(password, ask=ask_password),
        schema=loaded_schema,
        model=loaded_model,
    )
    raise typer.Exit(run_folder(options))


@app.command("match")
def match_documents(
    folder: Annotated[
        Path, typer.Argument(help="A folder, or the records of `docmill run` (.jsonl).", exists=True)
    ],
    records: Annotated[
        Path | None,
        typer.Option(help="File for the records, from which the next call goes on.", dir_okay=False),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File for the result, as JSON.", dir_okay=False)
    ] = None,
    jobs: Jobs = None,
    config: SettingsFile = None,
    *,
    as_json: Json = False,
    dry_run: RunPlan = False,
    quiet: Quiet = True,
    password: Passwords = None,
    ask_password: AskPassword = False,
) -> None:
    """Say which documents of a folder belong together: orders, deliveries, invoices, payments.

    Links that are sure are marked ✓, suggestions ?, discrepancies ≠, each with its figures. Documents are
    read as by `docmill run`; with --records that is done once.

    Exit code: as of `docmill run`.
    """
    from docmill.cli.files.match import match_folder
    from docmill.cli.files.run import RunOptions

    options = RunOptions(
        folder=folder,
        out=records or Path("records.jsonl"),
        jobs=jobs,
        fresh=False,
        retry_failed=False,
        dry_run=dry_run,
        quiet=quiet,
        config=config,
        passwords=_passwords(password, ask=ask_password),
    )
    raise typer.Exit(match_folder(options, keeps_records=records is not None, out=out, as_json=as_json))


TruthFile = Annotated[
    Path, typer.Option(help="True values: JSON Lines, JSON or CSV by file, or a folder of NAME.json.")
]
SchemaOrType = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Schema for every document, or the name of a document type.",
        show_default="by document type",
    ),
]
EarlierRecords = Annotated[
    Path | None,
    typer.Option(help="Records of `docmill run`; documents without one are read and added.", dir_okay=False),
]
Baseline = Annotated[Path | None, typer.Option(help="An earlier report to compare with.", dir_okay=False)]
ReportFile = Annotated[
    Path | None, typer.Option("--out", "-o", help="File for the report, as JSON.", dir_okay=False)
]
ErrorPage = Annotated[
    Path | None, typer.Option(help="File for a page with every error and its picture.", dir_okay=False)
]
MaxRegression = Annotated[
    float, typer.Option(min=0, max=100, help="Points that F1 may fall below the baseline.")
]
MonthFirst = Annotated[bool, typer.Option("--month-first", help="The truth means March 4th by 03/04/2026.")]

Trust = Annotated[bool, typer.Option("--trust", help="Also say how often what is called ready is wrong.")]
TrustPicture = Annotated[
    Path | None, typer.Option(help="File for the curves of --trust, as SVG.", dir_okay=False)
]


@app.command("eval")
def evaluate(
    folder: Folder,
    truth: TruthFile,
    schema: SchemaOrType = None,
    model: ModelFile = None,
    labels: LabelsFile = None,
    records: EarlierRecords = None,
    baseline: Baseline = None,
    out: ReportFile = None,
    html: ErrorPage = None,
    max_regression: MaxRegression = 0.5,
    jobs: Jobs = None,
    config: SettingsFile = None,
    *,
    month_first: MonthFirst = False,
    trust: Trust = False,
    picture: TrustPicture = None,
) -> None:
    """Measure how much of a folder is read right, against its true values.

    Exit code: 0 measured, 1 worse than the baseline by more than is allowed and than chance explains,
    2 nothing was measured, 130 interrupted (with --records, run it again to go on).
    """
    from docmill.cli.files.eval import EvalOptions, evaluate

    loaded_schema, loaded_model = _load_schema(schema, model, labels, config)
    options = EvalOptions(
        folder=folder,
        truth=truth,
        schema=loaded_schema,
        model=loaded_model,
        records=records,
        baseline=baseline,
        out=out,
        html=html,
        max_regression=max_regression,
        jobs=jobs,
        config=config,
        month_first=month_first,
        trust=trust,
        picture=picture,
    )
    raise typer.Exit(evaluate(options))


@app.command()
def extract(
    file: Annotated[Path, typer.Argument(help="The file to read.")],
    schema: Annotated[
        str,
        typer.Option(
            "--schema",
            metavar="FILE",
            help="Schema: order.json, order.toml, models.py:Order, or the name of one in the settings.",
        ),
    ],
    model: ModelFile = None,
    labels: LabelsFile = None,
    config: SettingsFile = None,
    *,
    password: Passwords = None,
    ask_password: AskPassword = False,
) -> None:
    """Read one file by a schema of your own and print its values as JSON, each with its place.

    The name of a type that docmill knows (invoice, receipt, …) is a schema, too, and that of a table
    [schemas.NAME] of the settings. A Python file is executed.
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
def up(
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    port: WebPort = None,
    *,
    aws: Aws = False,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the pages in the browser.")] = False,
) -> None:
    """Start the vault: web pages, API and worker, until Ctrl-C."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.serving import up

    exit_after(up(load_settings(config, data_dir, port, aws=aws), open_browser=open_browser))


@app.command()
def web(
    config: SettingsFile = None, data_dir: DataFolder = None, port: WebPort = None, *, aws: Aws = False
) -> None:
    """Start web pages and API without a worker, until Ctrl-C. Any number may run on one database."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.serving import web

    exit_after(web(load_settings(config, data_dir, port, aws=aws)))


@app.command()
def worker(
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, help="Port of /healthz, /readyz and /metrics.", show_default="no port"
        ),
    ] = None,
    *,
    aws: Aws = False,
) -> None:
    """Start a worker without web pages, until Ctrl-C. Any number may run on one database."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.serving import worker

    exit_after(worker(load_settings(config, data_dir, worker_port=port, aws=aws)))


@app.command()
def demo(
    *,
    serve: Annotated[
        bool | None,
        typer.Option("--serve/--no-serve", help="Keep the vault running.", show_default="in a terminal"),
    ] = None,
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder of the demo.", show_default="a folder of its own")
    ] = None,
) -> None:
    """Put sample documents through docmill and compare what was read with the truth."""
    from docmill.cli.vault.demo import demo

    exit_after(demo(data_dir, serve=sys.stdout.isatty() if serve is None else serve))


@app.command()
def add(
    files: Annotated[list[Path], typer.Argument(help="Files to put into the vault.", metavar="FILE…")],
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    *,
    force: Annotated[bool, typer.Option("--force", help="Process again what is already there.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until each is processed.")] = False,
    password: Annotated[
        str | None,
        typer.Option(help="Password for protected files; the variable DOCUMENT_PASSWORD is safer."),
    ] = None,
    ask_password: AskPassword = False,
) -> None:
    """Put files into the vault. Exit code 1 if any was refused or, with --wait, failed."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.contents import add

    given = _passwords([password] if password else None, ask=ask_password)
    settings = load_settings(config, data_dir, tenant=tenant)
    exit_after(add(settings, files, force=force, wait=wait, password=given[0] if given else ""))


@app.command()
def show(
    document: Annotated[
        str, typer.Argument(help="The beginning of its file name, or the beginning or end of its id.")
    ],
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    *,
    as_json: Json = False,
) -> None:
    """Show what the vault knows about a document."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.contents import show

    exit_after(show(load_settings(config, data_dir, tenant=tenant), document, as_json=as_json))


@app.command("set-type")
def set_type(
    document: Annotated[
        str, typer.Argument(help="The beginning of its file name, or the beginning or end of its id.")
    ],
    document_type: Annotated[
        str | None,
        typer.Argument(metavar="TYPE", help="A type that docmill knows, or a schema of the settings."),
    ] = None,
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    *,
    undo: Annotated[bool, typer.Option("--undo", help="Take the latest choice back.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it has been read.")] = False,
) -> None:
    """Say of which type a document is; it is read again by that, and no later processing changes the type."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.contents import set_type

    if (document_type is None) != undo:
        raise typer.BadParameter("give either a TYPE or --undo")
    exit_after(set_type(load_settings(config, data_dir, tenant=tenant), document, document_type, wait=wait))


@app.command()
def status(config: SettingsFile = None, data_dir: DataFolder = None, tenant: TenantName = None) -> None:
    """Show how many documents there are in which state, and what waits."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.contents import status

    exit_after(status(load_settings(config, data_dir, tenant=tenant)))


@app.command()
def doctor(config: SettingsFile = None) -> None:
    """Check what this machine lacks, and say how to get it. Exit code 1 if something needed is missing."""
    from docmill.cli.doctor import doctor

    raise typer.Exit(doctor(config))
