"""The commands of `docmill sources`. They load the service when they are called."""

from typing import Annotated

import typer

from docmill.cli.console import DataFolder, Json, SettingsFile, TenantName, exit_after

app = typer.Typer(
    name="sources",
    help="Sources, from which documents arrive: list, add, change, test, pause and remove them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

Name = Annotated[str, typer.Argument(help="The source, by its name or id.", metavar="SOURCE")]
Kind = Annotated[str, typer.Argument(help="Its kind; `docmill sources kinds` lists them.", metavar="KIND")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="A setting, such as `host=imap.example.com`; can be repeated.", metavar="NAME=VALUE"
    ),
]
Secrets = Annotated[
    list[str] | None,
    typer.Option(
        "--secret",
        help="A secret to ask for, such as `password`; can be repeated. Its value comes from the variable"
        " `DOCMILL_SECRET_…` (`DOCMILL_SECRET_PASSWORD`), else it is typed without being shown, or is a line"
        " of the standard input.",
        metavar="NAME",
    ),
]
NoTest = Annotated[bool, typer.Option("--no-test", help="Do not try the source first.")]


@app.command("kinds")
def list_kinds(*, as_json: Json = False) -> None:
    """List the kinds of sources, with their settings and secrets."""
    from docmill.cli.vault.sources import list_kinds

    raise typer.Exit(list_kinds(as_json=as_json))


@app.command("list")
def list_sources(
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    *,
    as_json: Json = False,
) -> None:
    """List the sources with their state."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.sources import list_sources

    exit_after(list_sources(load_settings(config, data_dir, tenant=tenant), as_json=as_json))


@app.command("show")
def show_source(
    source: Name,
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    *,
    as_json: Json = False,
) -> None:
    """Show a source: its state, its settings, and which secrets are set."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.sources import show_source

    exit_after(show_source(load_settings(config, data_dir, tenant=tenant), source, as_json=as_json))


@app.command("add")
def add_source(
    kind: Kind,
    name: Annotated[str, typer.Argument(help="Its name.")],
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    settings: Settings = None,
    secrets: Secrets = None,
    *,
    no_test: NoTest = False,
    as_json: Json = False,
) -> None:
    """Add a source, if it works."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.sources import add_source

    installation = load_settings(config, data_dir, tenant=tenant)
    exit_after(
        add_source(
            installation, kind, name, settings or [], secrets or [], has_test=not no_test, as_json=as_json
        )
    )


@app.command("change")
def change_source(
    source: Name,
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    name: Annotated[str | None, typer.Option(help="Another name.")] = None,
    settings: Settings = None,
    secrets: Secrets = None,
    *,
    no_test: NoTest = False,
) -> None:
    """Change a source, if it works so. Settings that are not named stay; an empty value is the default."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.sources import change_source

    installation = load_settings(config, data_dir, tenant=tenant)
    exit_after(change_source(installation, source, name, settings or [], secrets or [], has_test=not no_test))


@app.command("test")
def try_source(
    source: Name, config: SettingsFile = None, data_dir: DataFolder = None, tenant: TenantName = None
) -> None:
    """Try a source. Nothing is taken."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.sources import try_source

    exit_after(try_source(load_settings(config, data_dir, tenant=tenant), source))


@app.command("authorize")
def authorize_source(
    source: Name,
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Where the browser is sent back to; 0: any free port.")
    ] = 0,
    *,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="The browser runs on another machine.")
    ] = False,
) -> None:
    """Ask the owner of a mailbox to let docmill read it: OAuth 2 of Google, Microsoft and others."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.source_permissions import authorize_source

    installation = load_settings(config, data_dir, tenant=tenant)
    exit_after(authorize_source(installation, source, port=port, has_browser=not no_browser))


@app.command("secret")
def make_secret(
    source: Name, config: SettingsFile = None, data_dir: DataFolder = None, tenant: TenantName = None
) -> None:
    """Make the secret of a webhook anew, and print it. The one of before stays valid until the next."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.sources import make_secret

    exit_after(make_secret(load_settings(config, data_dir, tenant=tenant), source))


@app.command("pause")
def pause_source(
    source: Name, config: SettingsFile = None, data_dir: DataFolder = None, tenant: TenantName = None
) -> None:
    """Take nothing from a source until it is resumed."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.sources import set_state

    exit_after(set_state(load_settings(config, data_dir, tenant=tenant), source, "paused"))


@app.command("resume")
def resume_source(
    source: Name, config: SettingsFile = None, data_dir: DataFolder = None, tenant: TenantName = None
) -> None:
    """Go on with a source that was paused, or try one that fails again at once."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.sources import set_state

    exit_after(set_state(load_settings(config, data_dir, tenant=tenant), source, "active"))


@app.command("remove")
def remove_source(
    source: Name,
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove a source and its secrets. Its documents stay."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.sources import remove_source

    exit_after(remove_source(load_settings(config, data_dir, tenant=tenant), source, yes=yes))


@app.command("items")
def list_items(
    source: Name,
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="The most items to list.")] = 50,
    *,
    refused: Annotated[bool, typer.Option("--refused", help="Only those that could not be taken.")] = False,
    retry: Annotated[
        bool, typer.Option("--retry", help="Forget that those were refused, so that they are taken again.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List what arrived from a source last."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.sources import list_items

    installation = load_settings(config, data_dir, tenant=tenant)
    exit_after(
        list_items(installation, source, limit=limit, refused=refused or retry, retry=retry, as_json=as_json)
    )
