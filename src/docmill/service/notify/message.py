"""One message about all that failed within some time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from pydantic import JsonValue

from docmill.service.store.notifications import ErrorCount, Notification

_NAMES = {
    "matching_failed": "matching failed",
    "setup_error": "a setting is to be mended",
    "pause": "processing is paused",
    "outage": "documents wait for what fails",
    "outage_over": "documents go on",
    "source_failed": "nothing arrives from a source",
    "webhook_disabled": "a webhook is disabled",
}


@dataclass(frozen=True, slots=True)
class Digest:
    """A message. id: the same whenever it is sent again. first: its oldest notifications.

    public_url: at which people open the vault, without a slash at its end; None if it is not known.
    """

    id: str
    tenant_id: UUID
    total: int
    oldest_at: datetime
    errors: Sequence[ErrorCount]
    first: Sequence[Notification]
    public_url: str | None = None

    @property
    def subject(self) -> str:
        """The message in one line."""
        if self.total == 1:
            return f"docmill: {_NAMES[self.first[0].kind]}"
        return f"docmill: {self.total} failures"

    def lines(self) -> Iterator[str]:
        """The message for people: the errors with their counts, then the first documents."""
        for error in self.errors:
            count = f"{error.count} x " if self.total > 1 else ""
            yield f"{count}{_NAMES[error.kind]}: {error.error}"
        documents = [each for each in self.first if each.document_id is not None]
        if documents:
            yield ""
        for each in documents:
            attempts = f", {each.attempts} attempts" if each.attempts > 1 else ""
            yield f"{self.address_of(each) or f'document {each.document_id}'}{attempts}"
        rest = self.total - len(self.first)
        if rest > 0:
            yield f"and {rest} more"
        yield ""
        yield f"first at {self.oldest_at:%Y-%m-%d %H:%M:%S %Z}, tenant {self.tenant_id}"

    def address_of(self, notification: Notification) -> str | None:
        """The address of the page that a notification is about, as far as it is known."""
        if notification.link is None or self.public_url is None:
            return None
        return f"{self.public_url}{notification.link}"

    def content(self) -> dict[str, JsonValue]:
        """The message for programs."""
        return {
            "type": "docmill.failures",
            "timestamp": self.oldest_at.isoformat(),
            "data": {
                "tenant_id": str(self.tenant_id),
                "total": self.total,
                "errors": [
                    {"kind": each.kind, "error": each.error, "count": each.count} for each in self.errors
                ],
                "notifications": [
                    {
                        "kind": each.kind,
                        "document_id": str(each.document_id) if each.document_id else None,
                        "error": each.error,
                        "attempts": each.attempts,
                        "link": self.address_of(each),
                    }
                    for each in self.first
                ],
            },
        }
