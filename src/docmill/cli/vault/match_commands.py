"""The commands of `docmill matches`. They load the service when they are called, so that all start fast."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from docmill.cli.console import DataFolder, Json, SettingsFile, TenantName, exit_after

if TYPE_CHECKING:
    from docmill.cli.vault.matches import Action

app = typer.Typer(
    name="matches",
    help="Links between the vault's documents: list, confirm, decline, make and part them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _check_relation(relation: str | None) -> str | None:
    from docmill.matching.wording import RELATION_NAMES
    from docmill.service.store.match_edges import RELATED

    relations = (*RELATION_NAMES, RELATED)
    if relation is not None and relation not in relations:
        raise typer.BadParameter(f"there is no relation {relation!r}; there are {', '.join(relations)}")
    return relation


MatchId = Annotated[
    str,
    typer.Argument(metavar="ID", help="Id of a link, as `docmill matches list` shows it, or its beginning."),
]
DocumentName = Annotated[
    str,
    typer.Argument(
        metavar="DOCUMENT", help="The beginning of its file name, or the beginning or end of its id."
    ),
]
Payment = Annotated[
    int | None,
    typer.Option("--payment", min=1, help="Which transaction of DOCUMENT, a bank statement, is meant."),
]
OtherPayment = Annotated[
    int | None, typer.Option("--other-payment", min=1, help="Which transaction of OTHER is meant.")
]


@app.command("list")
def list_matches(
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    status: Annotated[
        Literal["automatic", "suggested", "outranked", "confirmed", "declined"] | None,
        typer.Option(help="Only those with this status."),
    ] = None,
    relation: Annotated[
        str | None,
        typer.Option(help="Only those of this relation, such as order_to_invoice.", callback=_check_relation),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many, the likeliest first.")] = 50,
    *,
    discrepancies: Annotated[
        bool, typer.Option("--discrepancies", help="Only those whose documents differ.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List links between documents, the likeliest first."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.matches import MatchSelection, list_links

    selection = MatchSelection(status, relation, limit, with_discrepancies=discrepancies)
    exit_after(list_links(load_settings(config, data_dir, tenant=tenant), selection, as_json=as_json))


@app.command("show")
def show_matches(
    document: DocumentName,
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    *,
    as_json: Json = False,
) -> None:
    """Show the links of a document, what differs, and what was ordered, delivered, billed and paid."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.matches import show_links

    exit_after(show_links(load_settings(config, data_dir, tenant=tenant), document, as_json=as_json))


def _add_decision(name: str, action: "Action", help_text: str) -> None:
    @app.command(name, help=help_text)
    def decide_about_match(  # pyright: ignore[reportUnusedFunction]  registered by its decorator
        match_id: MatchId,
        config: SettingsFile = None,
        data_dir: DataFolder = None,
        tenant: TenantName = None,
        *,
        as_json: Json = False,
    ) -> None:
        from docmill.cli.vault.access import load_settings
        from docmill.cli.vault.matches import decide

        settings = load_settings(config, data_dir, tenant=tenant)
        exit_after(decide(settings, match_id, action, as_json=as_json))


_add_decision(
    "confirm",
    "confirm_match",
    "Confirm a link: it stays, whatever is matched later. Exit code 1 if it is not there.",
)
_add_decision(
    "decline",
    "decline_match",
    "Decline a suggested link: it is never made by itself. Exit code 1 if it is not there.",
)
_add_decision(
    "unlink",
    "unlink_documents",
    "Part two linked documents: they are not linked again by themselves. Exit code 1 if it is not there.",
)
_add_decision(
    "undo",
    "undo_match",
    "Take the last decision about a link back. Exit code 1 if the link is not there.",
)


@app.command("link")
def link_documents(
    document: DocumentName,
    other: Annotated[
        str, typer.Argument(metavar="OTHER", help="The document to link it with, named likewise.")
    ],
    config: SettingsFile = None,
    data_dir: DataFolder = None,
    tenant: TenantName = None,
    relation: Annotated[
        str,
        typer.Option(help="How they belong together, such as order_to_invoice.", callback=_check_relation),
    ] = "related",
    payment: Payment = None,
    other_payment: OtherPayment = None,
    *,
    as_json: Json = False,
) -> None:
    """Link two documents by hand. The link stays, whatever is matched later."""
    from docmill.cli.vault.access import load_settings
    from docmill.cli.vault.matches import EndName, link

    settings = load_settings(config, data_dir, tenant=tenant)
    ends = EndName(document, payment), EndName(other, other_payment)
    exit_after(link(settings, *ends, relation=relation, as_json=as_json))
