"""The position up to which a folder of a mailbox was read."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

_MOST_FAILED = 1000


@dataclass(frozen=True, slots=True)
class FolderPosition:
    """The mails up to `uid` were taken or left alone, except those that failed.

    uid_validity: with another one, the server has numbered its mails anew. rules: digest of those that mails
    were judged by. failed: uid of mails that the server did not hand over, and how often.
    """

    uid_validity: int = 0
    uid: int = 0
    rules: str = ""
    failed: dict[int, int] = field(default_factory=dict[int, int])

    @classmethod
    def from_json(cls, value: JsonValue) -> "FolderPosition":
        """The position that was kept; the beginning if there is none."""
        if not isinstance(value, dict):
            return cls()
        uid_validity, uid = value.get("uid_validity"), value.get("uid")
        failed = value.get("failed")
        pairs = failed.items() if isinstance(failed, dict) else ()
        return cls(
            uid_validity if isinstance(uid_validity, int) else 0,
            uid if isinstance(uid, int) else 0,
            str(value.get("rules") or ""),
            {int(uid): times for uid, times in pairs if uid.isdecimal() and isinstance(times, int)},
        )

    def as_json(self) -> dict[str, JsonValue]:
        """The position as it is kept."""
        kept: dict[str, JsonValue] = {"uid_validity": self.uid_validity, "uid": self.uid, "rules": self.rules}
        if self.failed:
            kept["failed"] = {str(uid): times for uid, times in self.failed.items()}
        return kept

    def after(self, uid: int) -> "FolderPosition":
        """The position after the mails up to a uid."""
        return replace(self, uid=max(self.uid, uid))

    def with_failed(self, uids: Collection[int]) -> "FolderPosition":
        """The position after one more attempt at these mails failed."""
        times = dict(self.failed)
        for uid in uids:
            if uid in times or len(times) < _MOST_FAILED:
                times[uid] = times.get(uid, 0) + 1
        return replace(self, failed=times)

    def without_failed(self, uids: Collection[int]) -> "FolderPosition":
        """The position when these mails need no further attempt."""
        if self.failed.keys().isdisjoint(uids):
            return self
        return replace(self, failed={uid: times for uid, times in self.failed.items() if uid not in uids})
