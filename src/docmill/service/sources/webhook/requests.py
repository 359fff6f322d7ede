"""The body of a request to a webhook: a file, or JSON that holds or names files."""

import base64
from collections.abc import AsyncGenerator, Sequence
from typing import Annotated, Self
from urllib.parse import unquote

import pydantic
from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from docmill.errors import ValidationError
from docmill.service.notify.guarded_download import shown_address
from docmill.text_input import check_texts

MOST_FILES = 50
_MOST_METADATA = 50
_LONGEST_NAME = 255

ShortText = Annotated[str, Field(max_length=500)]


class SentFile(BaseModel):
    """A file of a request. content: in base64; url: where it is fetched. One of the two is given.

    metadata: what the program wants to be shown and found with the document.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    file_name: Annotated[str, Field(min_length=1, max_length=_LONGEST_NAME)] | None = None
    content: str | None = None
    url: Annotated[str, Field(max_length=4000)] | None = None
    metadata: dict[Annotated[str, Field(max_length=100)], ShortText | int | float | bool | None] = Field(
        default={}, max_length=_MOST_METADATA
    )

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.content is None) == (self.url is None):
            raise ValueError("give content or url")
        return self

    @property
    def name(self) -> str:
        """The name of the file; of one without a name, the last part of its address."""
        last = unquote(shown_address(self.url or "").rpartition("/")[2])[:_LONGEST_NAME]
        return self.file_name or last or "document"

    @property
    def told(self) -> dict[str, JsonValue]:
        """The metadata of the arrival."""
        return {**self.metadata, **({} if self.url is None else {"url": shown_address(self.url)})}

    async def chunks(self) -> AsyncGenerator[bytes]:
        """The content. Raises ValidationError if it is no base64."""
        try:
            yield base64.b64decode(self.content or "", validate=True)
        except ValueError as error:  # binascii.Error, and what is not ASCII
            raise ValidationError("content is no base64") from error


class _SentFiles(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    files: list[SentFile] = Field(min_length=1, max_length=MOST_FILES)


def files_of(body: bytes) -> Sequence[SentFile]:
    """The files of a JSON body: one, or several under `files`. Raises ValidationError."""
    try:
        if b'"files"' in body:
            files = _SentFiles.model_validate_json(body).files
        else:
            files = [SentFile.model_validate_json(body)]
    except pydantic.ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)[:3]
        told = "; ".join(f"{'.'.join(map(str, fault['loc'])) or 'body'}: {fault['msg']}" for fault in faults)
        raise ValidationError(f"the request cannot be understood: {told}") from None
    for file in files:
        check_texts([file.file_name, file.url, file.metadata])
    return files
