"""The command line: parse, call, print."""

from docmill.cli.commands import main

__all__ = ["main"]
