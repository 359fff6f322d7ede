"""The commands that read files without a vault. They load what does the work when they are called."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from docmill.cli.console import (
    AskPassword,
    EngineName,
    Jobs,
    Json,
    LabelsFile,
    ModelFile,
    Passwords,
    RayAddress,
    SettingsFile,
    given_passwords,
)

if TYPE_CHECKING:
    from docmill.model.result import Schema

app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode="markdown")


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
    Path | None,
    typer.Option("--out", "-o", help="JSON Lines file for the records; if it exists, the run goes on."),
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
WithText = Annotated[
    bool, typer.Option("--with-text", help="Keep the text of documents in their records, as `text`.")
]


JsonLog = Annotated[
    bool,
    typer.Option("--json-log", help="Tell the run as lines of JSON on standard error, and nothing else."),
]
RunName = Annotated[
    str | None, typer.Option("--run", help="Name of a new run.", show_default="eight letters and digits")
]
StateAddress = Annotated[
    str | None,
    typer.Option(
        "--store",
        help="Where the state of the run is kept: a SQLite file, or the address of a server.",
        show_default=".docmill/runs.sqlite beside FILE",
    ),
]
OptionalFolder = Annotated[
    Path | None, typer.Argument(help="A folder, read with its subfolders, or one file.")
]
OwnPipeline = Annotated[
    Path | None,
    typer.Option("--pipeline", help="Run a pipeline of your own: its YAML file, or its folder.", exists=True),
]


@app.command()
def run(
    folder: OptionalFolder = None,
    out: RecordFile = None,
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
    with_text: WithText = False,
    name: RunName = None,
    store: StateAddress = None,
    pipeline: OwnPipeline = None,
    engine: EngineName = "local",
    ray_address: RayAddress = None,
    json_log: JsonLog = False,
) -> None:
    """Read every document of a folder and write the results, one JSON line each.

    With --pipeline, documents go through a pipeline of your own instead, which says what lists, reads and
    exports them; of the other options, it takes --run, --store, --engine and --ray-address. `docmill runs`
    tells of runs.

    Engines, languages, splitting and limits come from docmill.toml and DOCMILL_… variables, as for the vault;
    options win over both. With nothing set, no document leaves this machine. An engine or model that works
    elsewhere is sent pages or text: where the docmill.toml of the current folder names one, the run says so
    first, and --config with another file, even an empty one, keeps documents here.

    Exit code: 0 every document was processed, 1 some failed (their record says why), 2 something must
    be changed first, 130 interrupted (after both, run it again to go on).
    """
    from docmill.cli.files.run import RunOptions, run_folder
    from docmill.cli.files.run_again import chosen_engine, configuration_of, run_pipeline

    if pipeline is not None:
        if out is not None:
            raise typer.BadParameter("the exporter of the pipeline says where results go", param_hint="--out")
        raise typer.Exit(
            run_pipeline(
                pipeline,
                folder,
                run_id=name,
                store=store,
                engine=chosen_engine(engine, ray_address),
                json_log=json_log,
            )
        )
    if engine != "local" or ray_address is not None:
        raise typer.BadParameter("is for pipelines of your own; give --pipeline", param_hint="--engine")
    if folder is None or out is None:
        raise typer.BadParameter("give FOLDER and --out, or --pipeline")
    if str(out) == "-":
        raise typer.BadParameter("give a file, from which an interrupted run can go on", param_hint="--out")
    loaded_schema, loaded_model = _load_schema(schema, model, labels, config)
    options = RunOptions(
        folder=folder,
        out=out,
        jobs=jobs,
        fresh=fresh,
        retry=retry_failed,
        dry_run=dry_run,
        quiet=quiet,
        max_bytes=None if max_mb is None else max_mb * 1_000_000,
        time_limit_s=time_limit,
        config=config,
        document_type=document_type,
        passwords=given_passwords(password, ask=ask_password),
        schema=loaded_schema,
        model=loaded_model,
        keeps_text=with_text,
        json_log=json_log,
        store=store,
        run_id=name,
        configuration=configuration_of(
            {
                "jobs": jobs,
                "config": config,
                "max_mb": max_mb,
                "time_limit": time_limit,
                "schema": schema,
                "model": model,
                "labels": labels,
                "document_type": document_type,
                "with_text": with_text,
            }
        ),
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
    decisions: Annotated[
        Path | None,
        typer.Option(
            help="JSON file with what people decided: confirmed, declined, aliases.",
            dir_okay=False,
            exists=True,
        ),
    ] = None,
    jobs: Jobs = None,
    config: SettingsFile = None,
    *,
    as_json: Json = False,
    dry_run: RunPlan = False,
    quiet: Quiet = False,
    password: Passwords = None,
    ask_password: AskPassword = False,
) -> None:
    """Say which documents of a folder belong together: orders, deliveries, invoices, payments.

    Links that are sure are marked ✓, suggestions ?, discrepancies ≠, each with its figures. Documents are
    read as by `docmill run`; with --records that is done once.

    Exit code: as of `docmill run`.
    """
    from docmill.cli.files.match import NO_DECISIONS, load_decisions, match_folder
    from docmill.cli.files.run import RunOptions

    options = RunOptions(
        folder=folder,
        out=records or Path("records.jsonl"),
        jobs=jobs,
        dry_run=dry_run,
        quiet=quiet,
        config=config,
        passwords=given_passwords(password, ask=ask_password),
    )
    taught = NO_DECISIONS if decisions is None else load_decisions(decisions)
    raise typer.Exit(
        match_folder(options, taught, keeps_records=records is not None, out=out, as_json=as_json)
    )


TruthFile = Annotated[
    Path | None, typer.Option(help="True values: JSON Lines, JSON or CSV by file, or a folder of NAME.json.")
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


EvaluatedPipeline = Annotated[
    Path | None,
    typer.Option(
        "--pipeline",
        help="Evaluate a pipeline of your own: its YAML file, or its folder.",
        exists=True,
    ),
]
EvaluationName = Annotated[
    str | None,
    typer.Option("--run", help="Name of the evaluation of a pipeline; one that was interrupted goes on."),
]


@app.command("eval")
def evaluate(
    folder: OptionalFolder = None,
    truth: TruthFile = None,
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
    pipeline: EvaluatedPipeline = None,
    name: EvaluationName = None,
) -> None:
    """Measure how much of a folder is read right, against its true values.

    With --pipeline, a pipeline of your own is measured as its configuration says; of the other options, it
    takes --run, --baseline, --out and --html.

    Exit code: 0 measured, 1 worse than the baseline by more than is allowed and than chance explains,
    2 nothing was measured, 130 interrupted (with --records, run it again to go on).
    """
    from docmill.cli.files.eval import EvalOptions, evaluate

    if pipeline is not None:
        from docmill.cli.files.eval_pipeline import evaluate_pipeline

        if folder is not None or truth is not None:
            raise typer.BadParameter("the test_data_loader of the pipeline says what is true of which files")
        raise typer.Exit(evaluate_pipeline(pipeline, run_id=name, baseline=baseline, out=out, html=html))
    if folder is None or truth is None:
        raise typer.BadParameter("give FOLDER and --truth, or --pipeline")
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

    passwords = given_passwords(password, ask=ask_password)
    raise typer.Exit(
        extract_file(file, schema, model=model, labels=labels, config=config, passwords=passwords)
    )
