"""Mail addresses of sources, and lists of senders.

The address of a source is `anything+TOKEN@domain`. The token is made by docmill and cannot be guessed.
"""

import re
import secrets
import string
from collections.abc import Collection, Sequence
from typing import Annotated

from pydantic import AfterValidator, Field

_LETTERS = string.ascii_lowercase + string.digits
_TOKEN_LETTERS = 10
_NOT_PLAIN = re.compile(r"[^a-z0-9]+")
_SENDER = re.compile(r"(?:[^@\s]+@|@|\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?")


def new_address_token() -> str:
    """Make a token of ten letters and digits: 52 bits."""
    return "".join(secrets.choice(_LETTERS) for _ in range(_TOKEN_LETTERS))


AddressToken = Annotated[
    str,
    Field(
        default_factory=new_address_token,
        pattern=r"^[a-z0-9]{10}$",
        description="Part of the address of this source; made by docmill.",
        json_schema_extra={"readOnly": True},
    ),
]
"""A setting for `Kind.generated`; its name is `address_token`, by which a source is found."""


def _checked_senders(senders: tuple[str, ...]) -> tuple[str, ...]:
    senders = tuple(sender.strip().lower() for sender in senders)
    for sender in senders:
        if not _SENDER.fullmatch(sender):
            raise ValueError(
                "a sender is an address (anna@example.com), a domain (example.com), or a domain with those"
                " below it (*.example.com)"
            )
    return senders


SenderList = Annotated[tuple[str, ...], AfterValidator(_checked_senders)]
"""Addresses, domains (`example.com`), and domains with those below them (`*.example.com`)."""


def is_sender_in(address: str, senders: Sequence[str]) -> bool:
    """True for an address that a list of senders names, and for any if the list is empty."""
    address = address.strip().lower()
    domain = address.rpartition("@")[2]
    return not senders or any(
        address == sender
        or domain == sender.removeprefix("@").removeprefix("*.")
        or (sender.startswith("*.") and domain.endswith(sender[1:]))
        for sender in senders
    )


def word_of(name: str) -> str:
    """A name as it stands in an address: letters and digits, with a hyphen for anything else."""
    return _NOT_PLAIN.sub("-", name.lower()).strip("-")


def address_of_source(name: str, token: str, domain: str) -> str:
    """The address of a source."""
    return f"{word_of(name)[:30].strip('-') or 'documents'}+{token}@{domain}"


def split_address(address: str, domains: Collection[str]) -> tuple[str, str] | None:
    """The parts of an address before and behind its last `+`, in lower case; None for another domain.

    An address without `+` has nothing before it.
    """
    local, _, domain = address.lower().rpartition("@")
    if domain not in domains:
        return None
    before, _, tag = local.strip('"').rpartition("+")
    return before, tag
