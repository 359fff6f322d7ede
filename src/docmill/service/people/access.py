"""Access of a request: who asks, in which tenant, and what that allows."""

from dataclasses import dataclass
from typing import Literal, get_args
from uuid import UUID

from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.memberships import MembershipRow, Role

Scope = Literal["read", "review", "write", "administer"]

SCOPES: tuple[Scope, ...] = get_args(Scope)
ROLES: tuple[Role, ...] = get_args(Role)

SCOPES_OF_ROLE: dict[Role, frozenset[Scope]] = {
    "viewer": frozenset({"read"}),
    "reviewer": frozenset({"read", "review", "write"}),
    "owner": frozenset(SCOPES),
}


@dataclass(frozen=True, slots=True)
class Access:
    """A person in a tenant, an API key, a signed address, or this machine while the vault has no account.

    tenant_id: None for a person who belongs to no organisation (any more). user_id: of a key, who
    answers for it. role: of a person. tenants: those that the person can switch to, with the present one.
    language: of the pages, as the person chose it.
    """

    via: Literal["session", "key", "machine", "signature"]
    user_id: UUID
    user_name: str
    tenant_id: UUID | None
    tenant_name: str
    allows: frozenset[Scope]
    role: Role | None = None
    email: str | None = None
    session_id: UUID | None = None
    api_key_id: UUID | None = None
    tenants: tuple[MembershipRow, ...] = ()
    language: str | None = None

    @property
    def is_person(self) -> bool:
        """True for a person who has signed in."""
        return self.via == "session"


def scopes_of(user_id: UUID, role: Role | None) -> frozenset[Scope]:
    """The scopes of somebody with a role, which limit their keys too: none for who is no member.

    The user of this machine has all of them: its keys were made before there was an account, or by a command.
    """
    if user_id == DEFAULT_USER_ID:
        return frozenset(SCOPES)
    return SCOPES_OF_ROLE[role] if role else frozenset()


def machine_access(tenant_id: UUID) -> Access:
    """Return the access of everybody on this machine to a vault that has no account."""
    return Access("machine", DEFAULT_USER_ID, "This machine", tenant_id, "", SCOPES_OF_ROLE["owner"], "owner")


def signed_access(tenant_id: UUID) -> Access:
    """Return the access of whoever has a signed address of a file."""
    return Access("signature", DEFAULT_USER_ID, "Signed address", tenant_id, "", frozenset({"read"}))
