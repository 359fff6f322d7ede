"""The commands of `docmill dead messages`. They load the service when they are called."""

from typing import Annotated, Literal

import typer

from docmill.cli.console import DataFolder, Json, SettingsFile, exit_after

app = typer.Typer(
    name="messages",
    help="Messages that a queue gave up, of all organisations: mails from Amazon SES that are for no source, "
    "and documents whose matching failed.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


QueueName = Annotated[
    Literal["acquisition", "matching"], typer.Argument(help="Which queue.", metavar="QUEUE")
]
MessageIds = Annotated[
    list[str] | None, typer.Argument(help="Ids, as `docmill dead messages list` shows them.", metavar="ID")
]
AllMessages = Annotated[bool, typer.Option("--all", help="All of them.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="List those selected; change nothing.")]
Limit = Annotated[int, typer.Option(min=1, max=1000, help="At most so many, the latest first.")]


@app.command("list")
def list_messages(
    queue: QueueName,
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    limit: Limit = 50,
    *,
    as_json: Json = False,
) -> None:
    """List messages that a queue gave up, and what they are about."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.dead_messages import list_dead

    exit_after(list_dead(load_settings(config, data_dir), queue, limit=limit, as_json=as_json))


@app.command("redrive")
def redrive_messages(
    queue: QueueName,
    ids: MessageIds = None,
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    *,
    every: AllMessages = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Send messages again; documents are matched anew. Exit code 1 if an ID is not there."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.dead_messages import redrive

    settings = load_settings(config, data_dir)
    exit_after(redrive(settings, queue, ids, every=every, dry_run=dry_run, as_json=as_json))


@app.command("purge")
def purge_messages(
    queue: QueueName,
    ids: MessageIds = None,
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    *,
    every: AllMessages = False,
    dry_run: DryRun = False,
    as_json: Json = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete messages; mails stay in the bucket. Asks first. Exit code 1 if an ID is not there."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.dead_messages import purge

    settings = load_settings(config, data_dir)
    exit_after(purge(settings, queue, ids, every=every, dry_run=dry_run, as_json=as_json, yes=yes))
