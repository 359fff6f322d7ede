"""The commands of `docmill webhooks`. They load the service when they are called, so that all start fast."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

import typer

from docmill.cli.console import DataFolder, Json, SettingsFile, TenantName, exit_after, parse_id

app = typer.Typer(
    name="webhooks",
    help="Programs that are told what happened to documents: add and test them, see and repeat deliveries.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

WebhookId = Annotated[
    UUID,
    typer.Argument(help="Its id, as `docmill webhooks list` shows it.", metavar="ID", parser=parse_id),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
_MOMENTS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]


@app.command("list")
def list_webhooks(
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    *,
    as_json: Json = False,
) -> None:
    """List the webhooks, with the numbers of deliveries that wait and that have failed."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.webhooks import list_webhooks

    exit_after(list_webhooks(load_settings(config, data_dir, tenant=tenant), as_json=as_json))


@app.command("add")
def add_webhook(
    url: Annotated[str, typer.Argument(help="Address of the receiver.", metavar="URL")],
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    event: Annotated[
        list[str] | None, typer.Option(help="An event; may be repeated.", show_default="document.completed")
    ] = None,
    *,
    with_data: Annotated[
        bool, typer.Option("--with-data", help="Messages have the record of the document.")
    ] = False,
) -> None:
    """Make a webhook. Prints its secret, once."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.webhooks import add_webhook

    settings = load_settings(config, data_dir, tenant=tenant)
    exit_after(add_webhook(settings, url, event or ["document.completed"], with_data=with_data))


@app.command("test")
def send_test(
    webhook_id: WebhookId,
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
) -> None:
    """Send a test message now. Exit code: 0 the receiver took it, 1 it did not."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.webhooks import try_webhook

    exit_after(try_webhook(load_settings(config, data_dir, tenant=tenant), webhook_id))


@app.command("pause")
def pause_webhook(
    webhook_id: WebhookId,
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
) -> None:
    """Send nothing until the webhook is resumed. What happens meanwhile waits."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.webhooks import pause_webhook

    exit_after(pause_webhook(load_settings(config, data_dir, tenant=tenant), webhook_id))


@app.command("resume")
def resume_webhook(
    webhook_id: WebhookId,
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
) -> None:
    """Send again, also what has waited; after a pause, or after the webhook was disabled."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.webhooks import resume_webhook

    exit_after(resume_webhook(load_settings(config, data_dir, tenant=tenant), webhook_id))


@app.command("rotate")
def rotate_webhook(
    webhook_id: WebhookId,
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    overlap_hours: Annotated[
        float, typer.Option(min=0, max=720, help="For so long, the secret of before signs, too.")
    ] = 24,
) -> None:
    """Make another secret, and print it, once."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.webhooks import rotate_secret

    settings = load_settings(config, data_dir, tenant=tenant)
    exit_after(rotate_secret(settings, webhook_id, overlap_hours=overlap_hours))


@app.command("remove")
def remove_webhook(
    webhook_id: WebhookId,
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    *,
    yes: Yes = False,
) -> None:
    """Remove a webhook, with what waits for it and the log of its deliveries. Asks first."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.webhooks import remove_webhook

    exit_after(remove_webhook(load_settings(config, data_dir, tenant=tenant), webhook_id, yes=yes))


@app.command("deliveries")
def list_deliveries(
    webhook_id: WebhookId,
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    state: Annotated[
        Literal["pending", "succeeded", "failed"] | None, typer.Option(help="Only those in this state.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="At most so many, the newest first.")] = 50,
    *,
    as_json: Json = False,
) -> None:
    """List deliveries of the last 30 days, with their newest attempts."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.webhooks import list_deliveries

    settings = load_settings(config, data_dir, tenant=tenant)
    exit_after(list_deliveries(settings, webhook_id, state=state, limit=limit, as_json=as_json))


@app.command("redeliver")
def redeliver(
    webhook_id: WebhookId,
    delivery_ids: Annotated[
        list[UUID] | None,
        typer.Argument(
            help="Deliveries, as `docmill webhooks deliveries` shows them.",
            metavar="DELIVERY",
            parser=parse_id,
        ),
    ] = None,
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    since: Annotated[
        datetime | None, typer.Option(formats=_MOMENTS, help="With --failed: of events since then.")
    ] = None,
    *,
    failed: Annotated[bool, typer.Option("--failed", help="All that have failed for good.")] = False,
) -> None:
    """Send deliveries again, with the same ids. Exit code 1 if a DELIVERY is not there."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.webhooks import redeliver

    settings = load_settings(config, data_dir, tenant=tenant)
    exit_after(redeliver(settings, webhook_id, delivery_ids or (), all_failed=failed, since=since))
