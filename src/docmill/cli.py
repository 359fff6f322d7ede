"""The command line: parse, call, print."""

import typer

app = typer.Typer(no_args_is_help=True)
