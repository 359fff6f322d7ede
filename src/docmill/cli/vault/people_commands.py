"""The commands of `docmill users` and `docmill tenants`. They load the service when they are called."""

from typing import Annotated

import typer

from docmill.cli.console import DataFolder, Json, SettingsFile, TenantName, exit_after

users = typer.Typer(
    name="users",
    help="People with an account: list and add them, make a link for a new password, remove them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
handovers = typer.Typer(
    name="handovers",
    help="What people who are no owners any more have left, and keys that were revoked: list, keep, end.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
users.add_typer(handovers)
tenants = typer.Typer(
    name="tenants",
    help="Organisations in this vault: list, add and rename them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _check_role(role: str) -> str:
    from docmill.service.people.access import ROLES

    if role not in ROLES:
        raise typer.BadParameter(f"there is no role {role!r}; there are {', '.join(ROLES)}")
    return role


Email = Annotated[str, typer.Argument(help="E-mail address of the account.", metavar="EMAIL")]
Thing = Annotated[str, typer.Argument(help="Its id, as `list` shows it.", metavar="ID")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


@users.command("list")
def list_users(
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    *,
    as_json: Json = False,
) -> None:
    """List the people with an account, with their roles; with --tenant those of one organisation."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.people import list_people

    exit_after(list_people(load_settings(config, data_dir, tenant=tenant), as_json=as_json))


@users.command("add")
def add_user(
    email: Email,
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    name: Annotated[str, typer.Option(help="Name of the person.", show_default="from the address")] = "",
    role: Annotated[str, typer.Option(help="owner, reviewer or viewer.", callback=_check_role)] = "reviewer",
) -> None:
    """Add a person to an organisation. Prints a link with which a new person sets a password."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.people import add_person

    exit_after(add_person(load_settings(config, data_dir, tenant=tenant), email, name, role))


@users.command("reset")
def reset_user(email: Email, config: SettingsFile = None, data_dir: DataFolder = None) -> None:
    """Print a link with which a person sets a new password. It works once, for a day."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.people import reset_password

    exit_after(reset_password(load_settings(config, data_dir), email))


@users.command("remove")
def remove_user(
    email: Email,
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    *,
    yes: Yes = False,
) -> None:
    """Remove a person from an organisation. Asks first; what the person did stays under their name."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.people import remove_person

    exit_after(remove_person(load_settings(config, data_dir, tenant=tenant), email, yes=yes))


@handovers.command("list")
def list_handovers(
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    *,
    as_json: Json = False,
) -> None:
    """List keys, webhooks and sources that wait for an owner."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.handovers import list_handovers

    exit_after(list_handovers(load_settings(config, data_dir, tenant=tenant), as_json=as_json))


@handovers.command("keep")
def keep_handover(
    thing_id: Thing,
    owner: Annotated[
        str, typer.Option(help="E-mail address of the owner who answers for it.", metavar="EMAIL")
    ],
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
) -> None:
    """Have an owner answer for a key, webhook or source from now on."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.handovers import keep_handover

    exit_after(keep_handover(load_settings(config, data_dir, tenant=tenant), thing_id, owner))


@handovers.command("end")
def end_handover(
    thing_id: Thing,
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    *,
    yes: Yes = False,
) -> None:
    """Revoke a key, or remove a webhook or source, that waits for an owner. Asks first."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.handovers import end_handover

    exit_after(end_handover(load_settings(config, data_dir, tenant=tenant), thing_id, yes=yes))


@tenants.command("list")
def list_tenants(config: SettingsFile = None, data_dir: DataFolder = None, *, as_json: Json = False) -> None:
    """List the organisations of this vault."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.people import list_tenants

    exit_after(list_tenants(load_settings(config, data_dir), as_json=as_json))


@tenants.command("add")
def add_tenant(
    name: Annotated[str, typer.Argument(help="Name of the organisation.")],
    config: SettingsFile = None,
    data_dir: DataFolder = None,
) -> None:
    """Add an organisation. Its people are added with `docmill users add --tenant`."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.people import add_tenant

    exit_after(add_tenant(load_settings(config, data_dir), name))


@tenants.command("rename")
def rename_tenant(
    tenant: Annotated[str, typer.Argument(help="The organisation, by its name or id.")],
    name: Annotated[str, typer.Argument(help="Its new name.")],
    config: SettingsFile = None,
    data_dir: DataFolder = None,
) -> None:
    """Give an organisation another name."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.people import rename_tenant

    exit_after(rename_tenant(load_settings(config, data_dir, tenant=tenant), name))
