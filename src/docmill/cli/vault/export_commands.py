"""The commands of `docmill export`. They load the service when they are called, so that all start fast."""

from datetime import datetime
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from docmill.cli.console import DataFolder, ReplaceFile, SettingsFile, TenantName, exit_after, parse_id

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
    list[UUID] | None,
    typer.Option("--id", help="Only this document; can be repeated.", metavar="ID", parser=parse_id),
]

FirstDay = Annotated[
    datetime | None, typer.Option("--from", help="First day of the period.", formats=["%Y-%m-%d"])
]
LastDay = Annotated[
    datetime | None, typer.Option("--to", help="Last day of the period.", formats=["%Y-%m-%d"])
]
EveryState = Annotated[bool, typer.Option("--every-state", help="Also documents that are not ready.")]


@app.command("table")
def export_table(
    file: Annotated[
        Path, typer.Argument(help="The file to write; its ending says how: .csv, .xlsx, .parquet.")
    ],
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    query: QueryText = None,
    state: State = None,
    document_type: TypeName = None,
    ids: DocumentIds = None,
    *,
    items: Annotated[
        bool, typer.Option("--items", help="A row for each line item; a file of Excel has both tables.")
    ] = False,
    force: ReplaceFile = False,
) -> None:
    """Write the values of documents as a table, a row for each document."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.exports import Target, select, write_table

    selection = select(query, state, document_type, ids)
    exit_after(
        write_table(
            load_settings(config, data_dir, tenant=tenant),
            selection,
            Target(file, replace=force),
            items_only=items,
        )
    )


@app.command("zip")
def export_zip(
    file: Annotated[Path, typer.Argument(help="The file to write.")],
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    query: QueryText = None,
    state: State = None,
    document_type: TypeName = None,
    ids: DocumentIds = None,
    *,
    force: ReplaceFile = False,
) -> None:
    """Write the originals of documents, and a JSON record of each, into one archive."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.exports import Target, select, write_zip

    selection = select(query, state, document_type, ids)
    exit_after(
        write_zip(load_settings(config, data_dir, tenant=tenant), selection, Target(file, replace=force))
    )


@app.command("datev")
def export_datev(
    file: Annotated[Path, typer.Argument(help="The file to write, or a folder for it.")],
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    first: FirstDay = None,
    last: LastDay = None,
    query: QueryText = None,
    state: State = None,
    document_type: TypeName = None,
    ids: DocumentIds = None,
    *,
    every_state: EveryState = False,
    force: ReplaceFile = False,
) -> None:
    """Write the bookings of bills in the DATEV format, for one period in one fiscal year.

    FILE may be a folder; the file in it gets a name as DATEV wants it. A FILE that ends in .zip is an archive
    with the booked documents, too, which the bookings link to. Documents that are left out are listed with
    the reason. Exit code: 0 written, 1 written, and documents were left out, 2 nothing was written.
    """
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.exports import Target, rules_of, select, write_bookings

    settings = load_settings(config, data_dir, tenant=tenant)
    rules = rules_of(settings, first, last, every_state=every_state)
    selection = select(query, state, document_type, ids)
    exit_after(write_bookings(settings, selection, rules, Target(file, replace=force), form="datev"))


@app.command("ledger")
def export_ledger(
    file: Annotated[Path, typer.Argument(help="The file to write.")],
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    first: FirstDay = None,
    last: LastDay = None,
    query: QueryText = None,
    state: State = None,
    document_type: TypeName = None,
    ids: DocumentIds = None,
    *,
    every_state: EveryState = False,
    force: ReplaceFile = False,
) -> None:
    """Write the bookings of bills as a general ledger in CSV, a line for each account.

    Documents that are left out are listed with the reason. Exit code: as of `docmill export datev`.
    """
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.exports import Target, rules_of, select, write_bookings

    settings = load_settings(config, data_dir, tenant=tenant)
    rules = rules_of(settings, first, last, every_state=every_state)
    selection = select(query, state, document_type, ids)
    exit_after(write_bookings(settings, selection, rules, Target(file, replace=force), form="ledger"))
