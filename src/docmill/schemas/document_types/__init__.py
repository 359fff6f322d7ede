"""The built-in document types: one file of data for each in this folder, `invoice.toml` and so on."""

import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Literal

from pydantic import BaseModel, ConfigDict, StrictBool

from docmill.model.result import DocumentType


class TypeDefinition(BaseModel):
    """What a document type is called, and which rules read it.

    position: its place in lists. label: as people call it. model: the class of its fields in
    `docmill.schemas.types`. critical: paths without which the data is of no use. line_items: where its lists
    are: in a table, on the paper of a till, as the bookings of an account. written_by: whose paper it is if
    nothing else says so. payment_terms, payment_method, settlement: which rules of payment apply.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    position: int
    label: str
    model: str
    critical: tuple[str, ...]
    line_items: Literal["table", "till", "bookings", "none"]
    written_by: Literal["seller", "buyer"]
    payment_terms: StrictBool
    payment_method: StrictBool
    settlement: StrictBool


def _load() -> dict[DocumentType, TypeDefinition]:
    files = [file for file in resources.files(__name__).iterdir() if file.name.endswith(".toml")]
    definitions: Mapping[DocumentType, TypeDefinition] = {
        file.name.removesuffix(".toml"): TypeDefinition.model_validate(
            tomllib.loads(file.read_text(encoding="utf-8"))
        )
        for file in files
    }  # pyright: ignore[reportAssignmentType] - the files' names are the types' names
    return dict(sorted(definitions.items(), key=lambda item: item[1].position))


DEFINITIONS: Mapping[DocumentType, TypeDefinition] = _load()
