"""The commands of `docmill runs`. They load what does the work when they are called."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from docmill.cli.console import (
    AskPassword,
    EngineName,
    Json,
    Passwords,
    RayAddress,
    exit_after,
    given_passwords,
)

app = typer.Typer(
    name="runs",
    help="Runs of `docmill run` and of pipelines: what became of them, go on, try again, compare.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
dead = typer.Typer(
    name="dead",
    help="Documents of a run that failed for good: list them, have them tried again, delete their entries.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.add_typer(dead)

Store = Annotated[
    str | None,
    typer.Option(
        help="Where the state of runs is kept: a SQLite file, or the address of a server.",
        show_default=".docmill/runs.sqlite",
    ),
]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="Id of the run, as `docmill runs list` shows it.")]
Documents = Annotated[
    list[str] | None, typer.Argument(metavar="DOCUMENT", help="Paths of documents, as `show` prints them.")
]
Limit = Annotated[int, typer.Option(min=1, max=1_000_000, help="At most so many documents.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Status = Literal["pending", "in_progress", "completed", "needs_review", "failed", "vanished"]


@app.command("list")
def list_runs(store: Store = None, *, as_json: Json = False) -> None:
    """List all runs, the newest first, with the number of their documents by status."""
    from docmill.cli.files.run_states import list_runs

    exit_after(list_runs(store, as_json=as_json))


@app.command("show")
def show_run(
    run: RunId,
    status: Annotated[Status | None, typer.Option(help="Only documents with this status.")] = None,
    limit: Limit = 50,
    html: Annotated[
        Path | None,
        typer.Option(help="Write a page with figures and pictures of what failed.", dir_okay=False),
    ] = None,
    store: Store = None,
    *,
    as_json: Json = False,
) -> None:
    """Show a run and what became of its documents."""
    from docmill.cli.files.run_states import show_run, write_page

    if html is not None:
        exit_after(write_page(store, run, html))
    exit_after(show_run(store, run, status=status, limit=limit, as_json=as_json))


@app.command("resume")
def resume_run(
    run: RunId,
    store: Store = None,
    *,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Try failed documents again.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the summary.")] = False,
    password: Passwords = None,
    ask_password: AskPassword = False,
    engine: EngineName = "local",
    ray_address: RayAddress = None,
) -> None:
    """Go on with a run, with the options or the configuration with which it was begun.

    What is new in its folder is read, too, and what has changed. A run that was begun in Python goes on
    there.

    Exit code: as of `docmill run`.
    """
    from docmill.cli.files.run_again import chosen_engine, resume_run

    passwords = given_passwords(password, ask=ask_password)
    raise typer.Exit(
        resume_run(
            store,
            run,
            retry=retry_failed,
            passwords=passwords,
            quiet=quiet,
            engine=chosen_engine(engine, ray_address),
        )
    )


@app.command("retry")
def retry_run(
    run: RunId,
    documents: Documents = None,
    store: Store = None,
    *,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the summary.")] = False,
    password: Passwords = None,
    ask_password: AskPassword = False,
) -> None:
    """Try failed documents of a run again, all of them or those that are named, and go on with the run.

    Exit code: as of `docmill run`.
    """
    from docmill.cli.files.run_again import resume_run

    passwords = given_passwords(password, ask=ask_password)
    raise typer.Exit(resume_run(store, run, retry=documents or True, passwords=passwords, quiet=quiet))


@app.command("diff")
def diff_runs(
    run: RunId,
    other: Annotated[str, typer.Argument(metavar="OTHER", help="Id of the later run.")],
    limit: Limit = 50,
    store: Store = None,
    *,
    as_json: Json = False,
) -> None:
    """Show which documents ended differently in two runs: status, error, content, new or missing.

    Exit code: 0 no difference, 1 some.
    """
    from docmill.cli.files.run_differences import diff_runs

    exit_after(diff_runs(store, run, other, limit=limit, as_json=as_json))


@app.command("remove")
def remove_run(run: RunId, store: Store = None, *, yes: Yes = False) -> None:
    """Forget a run and the states of its documents. Its results stay. Exit code 1 if the answer is no."""
    from docmill.cli.files.run_states import remove_run

    exit_after(remove_run(store, run, yes=yes))


@dead.command("list")
def list_dead(run: RunId, limit: Limit = 50, store: Store = None, *, as_json: Json = False) -> None:
    """List the documents of a run that failed for good, and why."""
    from docmill.cli.files.run_dead_letters import list_dead

    exit_after(list_dead(store, run, limit=limit, as_json=as_json))


@dead.command("show")
def show_dead(
    run: RunId,
    document: Annotated[str, typer.Argument(metavar="DOCUMENT", help="Path of the document.")],
    store: Store = None,
    *,
    as_json: Json = False,
) -> None:
    """Show why a document failed: stage, error, attempts, metadata and traceback."""
    from docmill.cli.files.run_dead_letters import show_dead

    exit_after(show_dead(store, run, document, as_json=as_json))


AllDead = Annotated[bool, typer.Option("--all", help="All of them.")]


@dead.command("requeue")
def requeue_dead(
    run: RunId,
    documents: Documents = None,
    store: Store = None,
    *,
    every: AllDead = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List those selected; change nothing.")] = False,
) -> None:
    """Have failed documents tried again when the run goes on. Exit code 1 if one of them had not failed."""
    from docmill.cli.files.run_dead_letters import requeue_dead

    exit_after(requeue_dead(store, run, documents or [], every=every, dry_run=dry_run))


@dead.command("purge")
def purge_dead(
    run: RunId, documents: Documents = None, store: Store = None, *, every: AllDead = False, yes: Yes = False
) -> None:
    """Delete entries of failed documents, which stay failed. Exit code 1 if the answer is no."""
    from docmill.cli.files.run_dead_letters import purge_dead

    exit_after(purge_dead(store, run, documents or [], every=every, yes=yes))
