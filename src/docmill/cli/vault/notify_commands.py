"""The command that tries the channels of notifications."""

from typing import Annotated

import typer

from docmill.cli.console import SettingsFile

app = typer.Typer(pretty_exceptions_enable=False)


@app.command("notify")
def notify(
    config: SettingsFile = None,
    *,
    test: Annotated[bool, typer.Option("--test", help="Send a test message by each channel.")] = False,
) -> None:
    """List the channels of notifications, or try each.

    Exit code: 0 all sent, 1 a channel failed, 2 no channel is configured.
    """
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.notifications import try_channels

    raise typer.Exit(try_channels(load_settings(config), is_test=test))
