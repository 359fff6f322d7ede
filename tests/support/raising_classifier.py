"""A classifier that raises in the processes of a pool, in place of the real one."""

from collections.abc import Mapping

import pytest

from docmill.model.document import Document
from docmill.understanding import pooled


def _raise(document: Document, packed: Mapping[str, object], tags: tuple[str, ...]) -> str:
    del packed, tags
    raise KeyError(document.text)


def install(patch: pytest.MonkeyPatch) -> None:
    """Let every classification raise an exception whose text quotes the document."""
    patch.setattr(pooled, "_understand", _raise)
