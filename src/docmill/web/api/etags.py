"""Versions of documents as entity tags (RFC 9110): `ETag`, `If-None-Match`, `If-Match`."""

import hashlib
import re
from typing import Annotated

from fastapi import Depends, Header
from starlette.requests import Request

from docmill.service.store.matching_states import MatchingState

_STRONG = re.compile(r'(?<![^\s,])"(\d{1,18})(?:-[0-9a-f]{8})?"')
_TAG = re.compile(r'(?<![^\s,])"[0-9a-f-]{1,40}"')


def etag_of(version: int, matching: MatchingState | None) -> str:
    """Return the entity tag of a version of a document.

    How far its matching is stands behind the version: it is no change for which `If-Match` refuses another.
    """
    if matching is None:
        return f'"{version}"'
    return f'"{version}-{hashlib.sha256(repr(matching).encode()).hexdigest()[:8]}"'


def is_known(request: Request, etag: str) -> bool:
    """Return whether the client has what has this tag already, as it says with `If-None-Match`."""
    header = request.headers.get("if-none-match", "")
    return header.strip() == "*" or etag in _TAG.findall(header.replace("W/", ""))


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
