"""The context of a call: whose vault, and what the way of the call allows."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from docmill.web.context import Vault


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The vault, bound to who calls. address: of a client that calls by HTTP, for the audit log.

    folders: those from which files may be filed by their path; none for a client on another machine.
    """

    vault: Vault
    address: str | None = None
    folders: Sequence[Path] = ()
