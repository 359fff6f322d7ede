"""Values put into what was read, by their paths."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from docmill.model.paths import set_value
from docmill.model.result import Evidence, Extraction, Schema
from docmill.schemas.filling import filled


class Found(Protocol):
    """A value and its evidence."""

    @property
    def value(self) -> object: ...  # noqa: D102
    @property
    def evidence(self) -> Evidence: ...  # noqa: D102


def with_values(read: Extraction, schema: Schema, found: Mapping[str, Found]) -> Extraction:
    """The extraction with these values in their places."""
    if not found:
        return read
    data = read.data.model_dump()
    for path, one in found.items():
        set_value(data, path, one.value)
    evidence = {**read.evidence, **{path: one.evidence for path, one in found.items()}}
    return read.model_copy(update={"data": filled(schema.fields, data), "evidence": evidence})


def without_values(read: Extraction, schema: Schema, paths: Sequence[str]) -> Extraction:
    """The extraction without the values at these paths."""
    if not paths:
        return read
    data = read.data.model_dump()
    for path in paths:
        set_value(data, path, None)
    evidence = {path: proof for path, proof in read.evidence.items() if path not in paths}
    return read.model_copy(update={"data": filled(schema.fields, data), "evidence": evidence})
