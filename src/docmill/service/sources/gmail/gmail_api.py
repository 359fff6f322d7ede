"""The API of Gmail, as far as a watch needs it.

Source: https://developers.google.com/workspace/gmail/api/reference/rest
"""

import asyncio
import base64
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, ValidationError

from docmill.errors import MisconfiguredError, ServerError, TooLargeError, UnauthorizedError
from docmill.service.sources.access_tokens import AccessTokens
from docmill.service.sources.gmail.google_http import GoogleHttp, NotFoundError

_PAGE = 500


class _Answer(BaseModel):
    """A part of an answer, with the names that the API has for its fields."""

    model_config = ConfigDict(frozen=True)


class _Message(_Answer):
    id: str
    labelIds: list[str] = []  # noqa: N815  its name


class _Change(_Answer):
    """labelIds: that were added; None for a new mail."""

    message: _Message
    labelIds: list[str] | None = None  # noqa: N815  its name


class _Record(_Answer):
    messagesAdded: list[_Change] = []  # noqa: N815  its name
    labelsAdded: list[_Change] = []  # noqa: N815  its name


class _HistoryPage(_Answer):
    history: list[_Record] = []
    historyId: str = ""  # noqa: N815  its name
    nextPageToken: str = ""  # noqa: N815  its name


class _MessagePage(_Answer):
    messages: list[_Message] = []
    nextPageToken: str = ""  # noqa: N815  its name


class _Label(_Answer):
    id: str
    name: str


class _Labels(_Answer):
    labels: list[_Label] = []


AnswerPart = TypeVar("AnswerPart", bound=_Answer)


def _parsed(model: type[AnswerPart], answer: Mapping[str, Any]) -> AnswerPart:
    """An answer in the form that it should have. Raises ServerError."""
    try:
        return model.model_validate(answer)
    except ValidationError:
        raise ServerError("Gmail has answered in another form than its API describes") from None


@dataclass(frozen=True, slots=True)
class History:
    """The changes since a position. message_ids: that got the label, the oldest first."""

    position: str
    message_ids: list[str]


class GmailApi:
    """The mailbox of a source. Raises UnauthorizedError, MisconfiguredError and kinds of TransientError."""

    def __init__(self, address: str, tokens: AccessTokens, http: GoogleHttp) -> None:
        self._address = f"{address.rstrip('/')}/gmail/v1/users/me"
        self._tokens = tokens
        self._http = http

    async def profile(self) -> tuple[str, str]:
        """The address of the mailbox, and the position of what happens now."""
        profile = await self._about_mailbox("profile")
        return str(profile.get("emailAddress", "")), str(profile.get("historyId", ""))

    async def label_id(self, name: str) -> str | None:
        """The id of a label by its name or id; None if there is none."""
        for label in _parsed(_Labels, await self._about_mailbox("labels")).labels:
            if name == label.id or name.casefold() == label.name.casefold():
                return label.id
        return None

    async def history(self, position: str, label_id: str) -> History | None:
        """The changes since a position; None for one that Gmail does not know any more."""
        query: dict[str, str | list[str]] = {
            "startHistoryId": position,
            "labelId": label_id,
            "historyTypes": ["messageAdded", "labelAdded"],
            "maxResults": str(_PAGE),
        }
        message_ids: dict[str, None] = {}
        try:
            while True:
                page = _parsed(_HistoryPage, await self._get("history", query))
                for record in page.history:
                    for change in (*record.messagesAdded, *record.labelsAdded):
                        if label_id in (change.labelIds or change.message.labelIds):
                            message_ids[change.message.id] = None
                position = page.historyId or position
                if not page.nextPageToken:
                    return History(position, list(message_ids))
                query["pageToken"] = page.nextPageToken
        except NotFoundError:
            return None

    async def message_ids(self, label_id: str, since: datetime | None) -> AsyncGenerator[list[str]]:
        """The ids of all mails with a label, page by page. since: of those that came after this alone."""
        query: dict[str, str | list[str]] = {"labelIds": [label_id], "maxResults": str(_PAGE)}
        if since is not None:
            query["q"] = f"after:{int(since.timestamp())}"
        while True:
            page = _parsed(_MessagePage, await self._get("messages", query))
            yield [message.id for message in page.messages]
            if not page.nextPageToken:
                return
            query["pageToken"] = page.nextPageToken

    async def content(self, message_id: str, *, max_bytes: int) -> bytes | None:
        """A mail as it came; None if it is gone. Raises TooLargeError."""
        try:
            message = await self._get(
                f"messages/{quote(message_id, safe='')}",
                {"format": "raw"},
                max_bytes=max_bytes * 4 // 3 + 100_000,
            )
        except NotFoundError:
            return None
        except TooLargeError as error:
            raise TooLargeError("the mail is larger than the limit") from error
        raw = message.get("raw")
        if not isinstance(raw, str) or not raw:
            raise ServerError("Gmail has answered without the mail that was asked for")
        try:
            return await asyncio.to_thread(base64.urlsafe_b64decode, raw + "=" * (-len(raw) % 4))
        except ValueError as error:
            raise ServerError("Gmail has sent a mail that cannot be decoded") from error

    async def watch(self, topic: str, label_id: str) -> datetime:
        """Have Google push to a topic when a label changes; the time until which it does."""
        answer = await self._post(
            "watch", {"topicName": topic, "labelIds": [label_id], "labelFilterBehavior": "INCLUDE"}
        )
        return datetime.fromtimestamp(int(answer.get("expiration") or 0) / 1000, UTC)

    async def _about_mailbox(self, path: str) -> dict[str, Any]:
        """Facts that every mailbox has. Raises MisconfiguredError if nothing is there."""
        try:
            return await self._get(path)
        except NotFoundError as error:
            raise MisconfiguredError("api_address is not that of Gmail's API; check it") from error

    async def _get(
        self, path: str, query: dict[str, str | list[str]] | None = None, **options: int
    ) -> dict[str, Any]:
        url, token = f"{self._address}/{path}", await self._tokens.get()
        try:
            return await self._http.get(url, query or {}, token, **options)
        except UnauthorizedError:  # a token may be withdrawn before its end
            return await self._http.get(url, query or {}, await self._tokens.get(refused=token), **options)

    async def _post(self, path: str, value: dict[str, Any]) -> dict[str, Any]:
        return await self._http.post(f"{self._address}/{path}", value, await self._tokens.get())
