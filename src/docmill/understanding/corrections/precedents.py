"""Earlier documents whose values people confirmed, as far as they can help to read another one."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from docmill.model.document import Box
from docmill.understanding.user_schemas.learned import Model
from docmill.understanding.user_schemas.learned import dumps as model_dumps
from docmill.understanding.user_schemas.learned import loads as model_loads

FORMAT = 2
"""Grows when a precedent is made in another way, so that those made before are made anew."""


@dataclass(frozen=True, slots=True)
class Known:
    """A value that a person spoke of, as text; None where it was cleared.

    is_corrected: whether it is another than what is read when nothing is learned. page, box: where it stands,
    or was read before it was cleared.
    """

    value: str | None
    is_corrected: bool = False
    page: int | None = None
    box: Box | None = None


@dataclass(frozen=True, slots=True)
class Precedent:
    """A document that people spoke of. marks: numbers on it; words: of its first page; values: by path."""

    name: str
    marks: frozenset[str]
    words: frozenset[str]
    values: Mapping[str, Known]

    def content(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "name": self.name,
            "marks": sorted(self.marks),
            "words": sorted(self.words),
            "values": {
                path: [one.value, one.is_corrected, one.page, one.box] for path, one in self.values.items()
            },
        }

    @classmethod
    def of_content(cls, content: Mapping[str, Any]) -> "Precedent":
        """From JSON."""
        values = {
            path: Known(value, corrected, page, Box(*box) if box else None)
            for path, (value, corrected, page, box) in content["values"].items()
        }
        return cls(content["name"], frozenset(content["marks"]), frozenset(content["words"]), values)


@dataclass(frozen=True, slots=True)
class Precedents:
    """What is known for one document. documents: the latest first.

    model: the places of values in its layout. sources: by path, the document that showed it.
    """

    documents: tuple[Precedent, ...] = ()
    model: Model | None = None
    sources: Mapping[str, str] = field(default_factory=dict[str, str])


def dumps(documents: Sequence[Mapping[str, Any]], anchors: str = "") -> str:
    """The precedents as text. documents: the content of each; anchors: see `anchors_text`."""
    return json.dumps({"documents": list(documents), "anchors": anchors}, separators=(",", ":"))


def anchors_text(model: Model, sources: Mapping[str, str]) -> str:
    """The places of values in one layout as text."""
    return json.dumps({"model": model_dumps(model), "sources": dict(sources)}, separators=(",", ":"))


@lru_cache(maxsize=16)
def loads(text: str) -> Precedents:
    """The precedents of `dumps`."""
    content = json.loads(text)
    documents = tuple(Precedent.of_content(one) for one in content["documents"])
    if not content["anchors"]:
        return Precedents(documents)
    anchors = json.loads(content["anchors"])
    return Precedents(documents, model_loads(anchors["model"]), anchors["sources"])
