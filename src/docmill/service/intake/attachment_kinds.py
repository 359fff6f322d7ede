"""Kinds of attachments that a source takes: endings of names and media types."""

import mimetypes
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import cast

from docmill.model.document import Part

METADATA_KEY = "attachment_kinds"
"""Under it, what a source says about a mail has the kinds that it takes; without it, all are taken."""
LEFT_OUT = "the rules of the source leave out attachments of this kind"

_MAILS = frozenset({".eml", ".msg"})
"""Endings of mails within a mail: their own attachments are judged, not they."""
_MAIL_TYPES = frozenset(
    {"message/rfc822", "message/global", "application/ms-tnef", "application/vnd.ms-tnef"}
)


def is_of_kind(name: str, kinds: Sequence[str], media_type: str | None = None) -> bool:
    """True for a file of one of the kinds: `pdf`, `.pdf`, `application/pdf` or `image/*`.

    media_type: as the mail has it. Many programs send every file as `application/octet-stream`, so that the
    ending of the name counts as well. Mails within a mail are of every kind.
    """
    ending = PurePath(name.lower()).suffix
    types = {media_type.lower()} if media_type else set[str]()
    types.add(mimetypes.guess_type(f"file{ending}")[0] or "")
    if ending in _MAILS or name.lower() == "winmail.dat" or types & _MAIL_TYPES:
        return True
    for kind in map(str.lower, kinds):
        if "/" in kind:
            if any(fnmatchcase(found, kind) for found in types):
                return True
        elif f".{kind.removeprefix('.')}" == ending or _type_of(kind) in types - {""}:
            return True
    return False


def is_left_out(part: Part, kinds: object) -> bool:
    """True for an attachment that is of none of the kinds. kinds: as the metadata has them, if at all.

    What is in an archive that is taken is taken, too.
    """
    if part.kind != "attachment" or not isinstance(kinds, list) or not kinds:
        return False
    return not is_of_kind(part.name, [str(kind) for kind in cast("list[object]", kinds)])


def _type_of(kind: str) -> str | None:
    return mimetypes.guess_type(f"file.{kind.removeprefix('.')}")[0]
