"""The commands of `docmill export`. They load the service when they are called, so that all start fast."""

from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from docmill.cli.console import DataFolder, SettingsFile, exit_after

app = typer.Typer(
    name="export",
    help="Take data out: tables of fields, originals, bookkeeping.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

QueryText = Annotated[str | None, typer.Option("--query", "-q", help="Search words, as in the vault.")]
State = Annotated[str | None, typer.Option("--state", help="Only documents in this state.")]
TypeName = Annotated[str | None, typer.Option("--type", help="Only documents of this type.")]
DocumentIds = Annotated[
    list[UUID] | None, typer.Option("--id", help="Only this document; can be repeated.", metavar="ID")
]
Force = Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")]


@app.command("table")
def export_table(
    file: Annotated[
        Path, typer.Argument(help="The file to write; its ending says how: .csv, .xlsx, .parquet.")
    ],
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    query: QueryText = None,
    state: State = None,
    document_type: TypeName = None,
    ids: DocumentIds = None,
    *,
    items: Annotated[
        bool, typer.Option("--items", help="A row for each line item; a file of Excel has both tables.")
    ] = False,
    force: Force = False,
) -> None:
    """Write the values of documents as a table, a row for each document."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.exports import Target, select, write_table

    selection = select(query, state, document_type, ids)
    exit_after(
        write_table(load_settings(config, data_dir), selection, Target(file, replace=force), items_only=items)
    )


@app.command("zip")
def export_zip(
    file: Annotated[Path, typer.Argument(help="The file to write.")],
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    query: QueryText = None,
    state: State = None,
    document_type: TypeName = None,
    ids: DocumentIds = None,
    *,
    force: Force = False,
) -> None:
    """Write the originals of documents, and a JSON record of each, into one archive."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.exports import Target, select, write_zip

    selection = select(query, state, document_type, ids)
    exit_after(write_zip(load_settings(config, data_dir), selection, Target(file, replace=force)))
