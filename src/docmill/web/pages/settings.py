"""The settings: what a person can set and where, the document types and their fields, the installation."""

from dataclasses import dataclass

from fastapi import Request
from starlette.responses import HTMLResponse

from docmill.schemas.field_names import TABLES
from docmill.schemas.outline import FieldOutline, Kind, outline
from docmill.schemas.registry import REGISTRY
from docmill.web.access import Router, needs
from docmill.web.context import TheVault, Vault, not_found
from docmill.web.languages import gettext, gettext_noop
from docmill.web.view.fields import shown_name
from docmill.web.view.installation import groups
from docmill.web.view.words import type_choices, type_name

router = Router(include_in_schema=False)

KINDS: dict[Kind, str] = {
    "text": gettext_noop("text"),
    "date": gettext_noop("date"),
    "time": gettext_noop("time"),
    "datetime": gettext_noop("date and time"),
    "decimal": gettext_noop("amount or number"),
    "integer": gettext_noop("whole number"),
    "boolean": gettext_noop("yes or no"),
}


@dataclass(frozen=True, slots=True)
class FieldOfType:
    """A value that is read in documents of a type. is_critical: without it, a person is asked."""

    path: str
    name: str
    kind: str
    is_critical: bool
    choices: tuple[str, ...]


@router.get("/settings")
@needs("read")
async def show_settings(request: Request, vault: TheVault) -> HTMLResponse:
    """Everything that can be set, with the pages where it is."""
    return vault.templates.page(
        request,
        "settings.html",
        review_count=await vault.review_count(),
        types=type_choices(vault.service.type_choices.types),
        levels=vault.settings.review,
        runs_installation=_runs_installation(vault),
    )


@router.get("/settings/types/{name}")
@needs("read")
async def show_type(request: Request, name: str, vault: TheVault) -> HTMLResponse:
    """The fields that are read in documents of a type."""
    schema = vault.settings.own.by_choice.get(name)
    if schema is None or name not in vault.service.type_choices.types:
        raise not_found("type")
    is_own = schema is not REGISTRY.get(name)
    fields = [
        FieldOfType(
            path=leaf.path,
            name=shown_name(leaf.path, schema.fields) if is_own else _name(leaf),
            kind=KINDS[leaf.kind],
            is_critical=leaf.path in schema.critical,
            choices=leaf.choices,
        )
        for leaf in outline(schema)
    ]
    return vault.templates.page(
        request,
        "type.html",
        review_count=await vault.review_count(),
        type_name=type_name(name),
        fields=fields,
        is_own=is_own,
    )


def _name(leaf: FieldOutline) -> str:
    """The name of a field of a built-in type; one in a list stands behind the name of the list."""
    table, _, column = leaf.path.partition("[].")
    if not column or table not in TABLES:
        return shown_name(leaf.path)
    heading, columns = TABLES[table]
    return f"{gettext(heading)}: {gettext(columns.get(column, column))}"


@router.get("/settings/installation")
@needs("administer")
async def show_installation(request: Request, vault: TheVault) -> HTMLResponse:
    """Every setting of the installation, with what it means. Of the first organisation's owners only."""
    if not _runs_installation(vault):
        raise not_found("page")
    return vault.templates.page(
        request,
        "installation.html",
        review_count=await vault.review_count(),
        groups=groups(vault.settings),
    )


def _runs_installation(vault: Vault) -> bool:
    """True for owners of the organisation that the installation was made with: it is theirs."""
    is_first = vault.access.tenant_id == vault.service.default_tenant_id
    return is_first and "administer" in vault.access.allows
