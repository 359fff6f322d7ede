"""The commands that bring documents in from another program: `docmill import …`."""

from pathlib import Path
from typing import Annotated

import typer

from docmill.cli.console import DataFolder, SettingsFile, TenantName, exit_after

app = typer.Typer(name="import", help="Bring documents in from another program.", no_args_is_help=True)


@app.callback()
def _import() -> None:
    """Bring documents in from another program."""


@app.command("paperless")
def paperless(
    export: Annotated[
        Path,
        typer.Argument(help="What document_exporter of paperless-ngx wrote: its folder, or its zip archive."),
    ],
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be imported; change nothing.")
    ] = False,
) -> None:
    """Import an export of paperless-ngx: original files, titles, dates, tags and notes.

    Begun again, it goes on where it was, and imports nothing twice. What was changed in docmill meanwhile
    stays. Exit code: 0 all imported, 1 documents were refused, 2 nothing was done.
    """
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.paperless_exports import import_paperless

    exit_after(import_paperless(load_settings(config, data_dir, tenant=tenant), export, is_dry=dry_run))
