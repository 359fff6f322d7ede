"""Permissions: the one table of what each operation needs, from which every check is derived.

A route or tool names its permission (`@needs`, `Tool.needs`); `Rule.scopes` says which scopes that takes.
People have the scopes of their role, API keys those that were chosen for them, as far as their person has
them. docs/reference/api.md shows the same table.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from docmill.service.people.access import SCOPES_OF_ROLE, Access, Scope
from docmill.service.store.memberships import Role

Permission = Literal[
    "read",
    "review",
    "write",
    "organise",
    "share files",
    "administer",
    "connect sources",
    "send events",
]

Answer = Literal["documents", "receipts", "organisation"]
"""What an operation may answer with. documents: anything that the vault knows of documents. receipts: ids,
numbers, and what the request itself sent. organisation: people, keys, sources and webhooks."""


@dataclass(frozen=True, slots=True)
class Rule:
    """scopes: all of them are needed. answer: what comes back. allows: in words, for the reference."""

    scopes: frozenset[Scope]
    answer: Answer
    allows: str


RULES: Mapping[Permission, Rule] = {
    "read": Rule(
        frozenset({"read"}),
        "documents",
        "documents, values, files, exports, tags, notes, the bin, events, operations, dead letters, sources,"
        " own views",
    ),
    "review": Rule(
        frozenset({"read", "review"}),
        "documents",
        "confirm and correct values, reject, choose types, set title and date, decide on duplicates and"
        " links",
    ),
    "write": Rule(
        frozenset({"write"}),
        "receipts",
        "upload, process again, unlock, delete into the bin, restore, redrive",
    ),
    "organise": Rule(
        frozenset({"read", "write"}),
        "documents",
        "tags and notes; title, date and number by the paths of paperless-ngx",
    ),
    "share files": Rule(
        frozenset({"read", "write"}),
        "documents",
        "sign addresses of files",
    ),
    "administer": Rule(
        frozenset({"administer"}),
        "organisation",
        "people, keys, audit log, removal for good; see, pause and remove sources and webhooks",
    ),
    "connect sources": Rule(
        frozenset({"administer", "write"}),
        "organisation",
        "make, change, test and resume sources",
    ),
    "send events": Rule(
        frozenset({"administer", "read"}),
        "organisation",
        "make, change, test and resume webhooks; send deliveries again",
    ),
}


def may(access: Access, permission: Permission) -> bool:
    """True if the scopes of an access are enough for a permission."""
    return RULES[permission].scopes <= access.allows


def may_give(access: Access, role: Role) -> bool:
    """True if somebody may give this role to others: people as owners, API keys no more than they have.

    An owner is made by a person alone, since that lasts longer than any key.
    """
    if access.via == "key" and role == "owner":
        return False
    return SCOPES_OF_ROLE[role] <= access.allows
