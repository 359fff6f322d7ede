"""The commands that run a vault's processes. They load the service when they are called."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from docmill.cli.console import Aws, DataFolder, SettingsFile, TenantName, WebPort, exit_after

app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode="markdown")


@app.command()
def up(
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    port: WebPort = None,
    *,
    aws: Aws = False,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the pages in the browser.")] = False,
) -> None:
    """Start the vault: web pages, API and worker, until Ctrl-C."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.serving import up

    exit_after(up(load_settings(config, data_dir, port, aws=aws), open_browser=open_browser))


@app.command()
def web(
    config: SettingsFile = None, data_dir: DataFolder = None, port: WebPort = None, *, aws: Aws = False
) -> None:
    """Start web pages and API without a worker, until Ctrl-C. Any number may run on one database."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.serving import web

    exit_after(web(load_settings(config, data_dir, port, aws=aws)))


@app.command()
def worker(
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, help="Port of /healthz, /readyz and /metrics.", show_default="no port"
        ),
    ] = None,
    *,
    aws: Aws = False,
) -> None:
    """Start a worker without web pages, until Ctrl-C. Any number may run on one database."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.serving import worker

    exit_after(worker(load_settings(config, data_dir, worker_port=port, aws=aws)))


@app.command()
def mcp(
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    *,
    allow_write: Annotated[
        bool, typer.Option("--allow-write", help="Let the assistant file documents, too.")
    ] = False,
    files_from: Annotated[
        list[Path] | None,
        typer.Option(
            help="Folder whose files the assistant may file by their path; can be repeated. Needs"
            " --allow-write."
        ),
    ] = None,
) -> None:
    """Offer the documents of this vault to an assistant, by the Model Context Protocol (MCP).

    The assistant's program starts this, and talks to it on standard input and output.
    """
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.mcp_stdio import serve_stdio

    if files_from and not allow_write:
        raise typer.BadParameter("--files-from needs --allow-write")
    settings = load_settings(config, data_dir, tenant=tenant)
    exit_after(serve_stdio(settings, may_write=allow_write, folders=files_from or ()))


@app.command()
def demo(
    *,
    serve: Annotated[
        bool | None,
        typer.Option("--serve/--no-serve", help="Keep the vault running.", show_default="in a terminal"),
    ] = None,
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder of the demo.", show_default="a folder of its own")
    ] = None,
) -> None:
    """Put sample documents through docmill and compare what was read with the truth."""
    from docmill.cli.vault.demo import demo

    exit_after(demo(data_dir, serve=sys.stdout.isatty() if serve is None else serve))
