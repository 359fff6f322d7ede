"""The commands on people and organisations."""

import json
import sys
from typing import cast

import typer
from rich.table import Table

from docmill.cli.console import FAILED, stderr, stdout
from docmill.cli.vault.access import existing_service, find_tenant, log_command
from docmill.cli.vault.addresses import address_of
from docmill.errors import ValidationError
from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.people.accounts import AccountExistsError, clean_name
from docmill.service.store import memberships, tenants, users
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.memberships import MembershipRow, Role
from docmill.service.store.users import UserRow


async def list_people(settings: Settings, *, as_json: bool) -> int:
    """Print the people with an account and their roles; the exit code."""
    async with existing_service(settings) as service, service.database.accounts() as conn:
        rows = [(user, await memberships.of_user(conn, user.id)) for user in await users.all_users(conn)]
        if settings.tenant is not None:
            rows = [
                (user, own)
                for user, own in rows
                if service.default_tenant_id in {membership.tenant_id for membership in own}
            ]
    if as_json:
        stdout.print_json(json.dumps([_as_json(user, own) for user, own in rows], ensure_ascii=False))
        return 0
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("e-mail address", "name", "roles", ""):
        table.add_column(column)
    for user, own in rows:
        roles = ", ".join(f"{row.role} of {row.tenant_name}" for row in own)
        notes = [] if user.password_hash else ["no password yet"]
        notes += [] if user.verified_at else ["address not proven"]
        table.add_row(user.email, user.name, roles, ", ".join(notes))
    stdout.print(table)
    return 0


def _as_json(user: UserRow, own: list[MembershipRow]) -> dict[str, object]:
    return {
        "id": str(user.id),
        "email": user.email,
        "name": user.name,
        "has_password": user.password_hash is not None,
        "is_verified": user.verified_at is not None,
        "created_at": user.created_at.isoformat(),
        "memberships": [
            {"tenant_id": str(row.tenant_id), "tenant_name": row.tenant_name, "role": row.role} for row in own
        ],
    }


async def add_person(settings: Settings, email: str, name: str, role: str) -> int:
    """Add a person to the tenant, and print the link for their password; the exit code.

    Who has an account already gets an invitation to accept: the account may be that of somebody else.
    """
    chosen = cast("Role", role)
    async with existing_service(settings) as service:
        tenant_id = service.default_tenant_id
        try:
            user_id, token = await service.accounts.add(email, name, chosen, tenant_id=tenant_id)
        except AccountExistsError:
            token = await service.invitations.invite(
                chosen, tenant_id=tenant_id, email=email, invited_by=DEFAULT_USER_ID
            )
            await log_command(service, "invite", None, {"email": email, "role": role})
            stdout.print(f"{email} has an account already, and is {role} once they accept.", markup=False)
            stdout.print("Send them this link. It works once, for seven days, for that account alone:")
            _print_address(settings, f"join?token={token}")
            return 0
        await log_command(service, "add_person", str(user_id), {"email": email, "role": role})
    stdout.print(f"{email} is {role} now", markup=False)
    _print_password_link(settings, token)
    return 0


async def reset_password(settings: Settings, email: str) -> int:
    """Print a link for a new password; the exit code."""
    async with existing_service(settings) as service:
        user = await _user_called(service, email)
        token = await service.accounts.password_link(user.id)
        async with service.database.accounts() as conn:
            own = await memberships.of_user(conn, user.id)
        for membership in own:
            await log_command(service, "make_password_link", str(user.id), tenant_id=membership.tenant_id)
    _print_password_link(settings, token)
    return 0


async def remove_person(settings: Settings, email: str, *, yes: bool) -> int:
    """Remove a person from the tenant, after asking; the exit code."""
    async with existing_service(settings) as service:
        user = await _user_called(service, email)
        if not yes:
            if not sys.stdin.isatty():
                raise ValidationError("cannot ask for confirmation here: give --yes to remove the person")
            if not typer.confirm(f"remove {user.email} ({user.name})?", err=True):
                stderr.print("nobody was removed")
                return FAILED
        if not await service.accounts.remove(user.id, tenant_id=service.default_tenant_id):
            raise ValidationError(f"{user.email} does not belong to this organisation")
        await log_command(service, "remove_person", str(user.id), {"email": user.email})
    stdout.print(f"{user.email} was removed; sessions and API keys of theirs have ended", markup=False)
    return 0


async def list_tenants(settings: Settings, *, as_json: bool) -> int:
    """Print the organisations; the exit code."""
    async with existing_service(settings) as service, service.database.accounts() as conn:
        rows = await tenants.all_tenants(conn)
    if as_json:
        content = [{"id": str(row.id), "name": row.name, "people": row.people} for row in rows]
        stdout.print_json(json.dumps(content, ensure_ascii=False))
        return 0
    for row in rows:
        stdout.print(f"{row.id}  {row.name}  ({row.people} people)", markup=False)
    return 0


async def add_tenant(settings: Settings, name: str) -> int:
    """Add an organisation; the exit code."""
    name = clean_name(name, "the name of the organisation")
    async with existing_service(settings) as service:
        async with service.database.accounts() as conn:
            if name.lower() in {row.name.lower() for row in await tenants.all_tenants(conn)}:
                raise ValidationError(f"there is an organisation {name!r} already")
            tenant_id = await tenants.add(conn, name)
        await log_command(service, "add_tenant", str(tenant_id), {"name": name}, tenant_id=tenant_id)
    stdout.print(f"{tenant_id}  {name}", markup=False)
    return 0


async def rename_tenant(settings: Settings, name: str) -> int:
    """Give the tenant of the settings another name; the exit code."""
    name = clean_name(name, "the name of the organisation")
    async with existing_service(settings) as service:
        before = await find_tenant(service, settings.tenant or "")
        async with service.database.accounts() as conn:
            await tenants.rename(conn, before.id, name)
        await log_command(service, "rename_tenant", str(before.id), {"name": name, "before": before.name})
    stdout.print(f"{before.name} is called {name} now", markup=False)
    return 0


async def _user_called(service: Service, email: str) -> UserRow:
    user = await service.accounts.by_email(email)
    if user is None:
        raise ValidationError(
            f"there is no account with the address {email!r}; `docmill users list` shows them"
        )
    return user


def _print_password_link(settings: Settings, token: str) -> None:
    """Print the address at which a password is set."""
    stdout.print("This link sets a password. It works once, for a day, while the vault runs:")
    _print_address(settings, f"password?token={token}")


def _print_address(settings: Settings, path: str) -> None:
    """Print the whole address of a page: by `web.public_url`, else as this machine reaches it."""
    address = address_of(settings.folder) or f"http://localhost:{settings.web.port}/"
    if settings.web.public_url is not None:
        address = f"{settings.web.public_url}/"
    stdout.print(f"{address}{path}", markup=False, soft_wrap=True)
