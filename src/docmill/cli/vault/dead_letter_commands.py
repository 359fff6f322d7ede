"""The commands of `docmill dead`. They load the service when they are called, so that all start fast."""

from typing import Annotated
from uuid import UUID

import typer

from docmill.cli.console import DataFolder, Json, SettingsFile, TenantName, exit_after, parse_id
from docmill.cli.vault import dead_message_commands

app = typer.Typer(
    name="dead",
    help="Documents that failed for good: list them, have them tried again, or delete their entries.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(dead_message_commands.app)


def _check_code(code: str | None) -> str | None:
    from docmill.errors import codes

    if code is not None and code not in codes():
        raise typer.BadParameter(f"there is no error code {code!r}; there are {', '.join(sorted(codes()))}")
    return code


ErrorCode = Annotated[
    str | None, typer.Option("--code", help="Only those with this error code.", callback=_check_code)
]
LetterIds = Annotated[
    list[UUID] | None,
    typer.Argument(help="Ids, as `docmill dead list` shows them.", metavar="ID", parser=parse_id),
]
AllLetters = Annotated[bool, typer.Option("--all", help="All of them.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="List those selected; change nothing.")]


@app.command("list")
def list_dead(
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    code: ErrorCode = None,
    step: Annotated[str | None, typer.Option(help="Only those that failed at this step.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000_000, help="At most so many, the latest first.")] = 50,
    *,
    as_json: Json = False,
) -> None:
    """List documents that failed for good, and why."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.dead_letters import list_letters

    settings = load_settings(config, data_dir, tenant=tenant)
    exit_after(list_letters(settings, code=code, step=step, limit=limit, as_json=as_json))


@app.command("redrive")
def redrive_dead(
    ids: LetterIds = None,
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    code: ErrorCode = None,
    *,
    every: AllLetters = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Have documents tried again from their first attempt. Exit code 1 if an ID is not there."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.dead_letters import build_selection, redrive

    selection = build_selection(ids, code=code, every=every)
    exit_after(
        redrive(load_settings(config, data_dir, tenant=tenant), selection, dry_run=dry_run, as_json=as_json)
    )


@app.command("purge")
def purge_dead(
    ids: LetterIds = None,
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    code: ErrorCode = None,
    *,
    every: AllLetters = False,
    dry_run: DryRun = False,
    as_json: Json = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete dead letters; their documents stay, as failed. Asks first. Exit code 1 if an ID is not there."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.dead_letters import build_selection, purge

    selection = build_selection(ids, code=code, every=every)
    settings = load_settings(config, data_dir, tenant=tenant)
    exit_after(purge(settings, selection, dry_run=dry_run, as_json=as_json, yes=yes))
