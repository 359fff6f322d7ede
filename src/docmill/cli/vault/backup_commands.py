"""The commands that take out a whole installation or tenant, and bring one back."""

from pathlib import Path
from typing import Annotated

import typer

from docmill.cli.console import DataFolder, ReplaceFile, SettingsFile, TenantName, exit_after

app = typer.Typer(pretty_exceptions_enable=False)


@app.command("backup")
def backup(
    file: Annotated[Path, typer.Argument(help="The file to write.")],
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    *,
    force: ReplaceFile = False,
) -> None:
    """Back up a vault with its embedded database and all files into one file, also while it runs.

    Exit code: 0 written and compared with its checksums, 1 written, but files of the vault were missing
    already, 2 nothing was written.
    """
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.backups import back_up
    from docmill.cli.vault.exports import Target

    raise typer.Exit(back_up(load_settings(config, data_dir), Target(file, replace=force)))


@app.command("restore")
def restore(
    file: Annotated[Path, typer.Argument(help="The backup.")],
    config: SettingsFile = None,
    data_dir: DataFolder = None,
) -> None:
    """Make a vault from a backup, in a data folder that has none. The backup is checked first."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.backups import restore

    raise typer.Exit(restore(load_settings(config, data_dir), file))


@app.command("export-tenant")
def export_tenant(
    folder: Annotated[
        Path, typer.Argument(help="An empty folder, or one of an export that was interrupted.")
    ],
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
) -> None:
    """Take a whole tenant out: documents, files, results, reviews and history. It goes on after a kill.

    Exit code: 0 complete, 1 complete, but files were missing in the vault already, 2 not done.
    """
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.backups import export_tenant

    exit_after(export_tenant(load_settings(config, data_dir, tenant=tenant), folder))


@app.command("import-tenant")
def import_tenant(
    folder: Annotated[Path, typer.Argument(help="The folder that `docmill export-tenant` wrote.")],
    config: SettingsFile = None,
    data_dir: DataFolder = None,
) -> None:
    """Bring an exported tenant into this installation, where it has no documents. It goes on after a kill."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.backups import import_tenant

    exit_after(import_tenant(load_settings(config, data_dir), folder))
