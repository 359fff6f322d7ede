"""Reads manifests of paperless-ngx record by record: with the text of all documents they grow large."""

import io
import json
from collections.abc import Generator
from typing import IO, Any, cast

from docmill.errors import CorruptError

LONGEST_RECORD = 100_000_000
"""Characters of one record; most of them are the text of a document."""

_READ = 1 << 18
_BETWEEN = " \t\r\n,"

Record = dict[str, Any]


def read_records(file: IO[bytes], name: str) -> Generator[Record]:
    """The objects of a JSON list, without the texts of documents. Raises CorruptError.

    name: of the file, for messages.
    """
    broken = CorruptError(f"{name!r} is no manifest that can be read; export again")
    decoder = json.JSONDecoder()
    text = io.TextIOWrapper(file, encoding="utf-8-sig")
    try:
        buffer = text.read(_READ).lstrip()
        if not buffer.startswith("["):
            raise broken
        buffer = buffer[1:]
        while True:
            buffer = buffer.lstrip(_BETWEEN)
            try:
                record, end = decoder.raw_decode(buffer)
            except ValueError:
                if buffer.startswith("]"):
                    return
                more = text.read(max(_READ, len(buffer)))  # doubled: a long record is not tried too often
                if not more or len(buffer) > LONGEST_RECORD:
                    raise broken from None
                buffer += more
                continue
            buffer = buffer[end:]
            if not isinstance(record, dict):
                raise broken
            yield _without_text(cast("Record", record))
    except (UnicodeDecodeError, RecursionError) as error:
        raise broken from error
    finally:
        text.detach()  # the caller closes its file


def _without_text(record: Record) -> Record:
    fields = record.get("fields")
    if isinstance(fields, dict):
        cast("Record", fields).pop("content", None)
    return record
