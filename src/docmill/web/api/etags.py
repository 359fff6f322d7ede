"""Versions of documents as entity tags (RFC 9110): `ETag`, `If-None-Match`, `If-Match`."""

import re
from typing import Annotated

from fastapi import Depends, Header
from starlette.requests import Request

_STRONG = re.compile(r'(?<![^\s,])"(\d{1,18})"')


def etag_of(version: int) -> str:
    """Return the entity tag of a version of a document."""
    return f'"{version}"'


def is_known(request: Request, version: int) -> bool:
    """Return whether the client has this version already, as it says with `If-None-Match`."""
    header = request.headers.get("if-none-match", "")
    return header.strip() == "*" or str(version) in _STRONG.findall(header.replace("W/", ""))


def _wanted_versions(
    if_match: Annotated[
        str | None,
        Header(
            description="entity tags of the document, one of which it must have, or else the answer is 412"
        ),
    ] = None,
) -> frozenset[int] | None:
    if if_match is None or if_match.strip() == "*":
        return None
    return frozenset(int(version) for version in _STRONG.findall(if_match))


WantedVersions = Annotated[frozenset[int] | None, Depends(_wanted_versions)]
"""The versions of which the document must have one; None without a condition."""
