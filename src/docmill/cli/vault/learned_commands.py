"""The commands of `docmill learned`. They load the service when they are called, so that all start fast."""

import typer

from docmill.cli.console import DataFolder, Json, SettingsFile, TenantName, exit_after

app = typer.Typer(
    name="learned",
    help="What matching has learned from people: show it, or reset the correction of scores.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.command("show")
def show(
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    *,
    as_json: Json = False,
) -> None:
    """Show the names that count as one party, and the corrections of scores that were tried."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.learned import show_learned

    exit_after(show_learned(load_settings(config, data_dir, tenant=tenant), as_json=as_json))


@app.command("reset")
def reset(config: SettingsFile = None, data_dir: DataFolder = None, tenant: TenantName = None) -> None:
    """Go back to the shipped scores; only decisions from now on correct them again."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.learned import reset_learned

    exit_after(reset_learned(load_settings(config, data_dir, tenant=tenant)))
