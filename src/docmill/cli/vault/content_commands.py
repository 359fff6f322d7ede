"""The commands that put files into a vault, and show what it holds. They load the service when called."""

from pathlib import Path
from typing import Annotated

import typer

from docmill.cli.console import (
    AskPassword,
    DataFolder,
    Json,
    SettingsFile,
    TenantName,
    exit_after,
    given_passwords,
)

app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode="markdown")


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

    given = given_passwords([password] if password else None, ask=ask_password)
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


@app.command("set-asn")
def set_asn(
    document: Annotated[
        str, typer.Argument(help="The beginning of its file name, or the beginning or end of its id.")
    ],
    number: Annotated[
        int | None, typer.Argument(metavar="NUMBER", help="A number that no other document has.")
    ] = None,
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    *,
    clear: Annotated[bool, typer.Option("--clear", help="Take the number away.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take the latest change back.")] = False,
) -> None:
    """Give a document an archive serial number, that of its paper; no later processing changes it."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.contents import set_serial_number

    if (number is not None) + clear + undo != 1:
        raise typer.BadParameter("give one of: a NUMBER, --clear, --undo")
    value = None if undo else "" if number is None else str(number)
    exit_after(set_serial_number(load_settings(config, data_dir, tenant=tenant), document, value))


@app.command()
def status(config: SettingsFile = None, data_dir: DataFolder = None, tenant: TenantName = None) -> None:
    """Show how many documents there are in which state, and what waits."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.contents import status

    exit_after(status(load_settings(config, data_dir, tenant=tenant)))
