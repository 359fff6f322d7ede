"""The built-in document types: one file of data for each in this folder, `invoice.toml` and so on."""

import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, StrictBool

_INHERITED = frozenset(
    {
        "model", "critical", "line_items", "written_by", "payment_terms", "payment_method", "settlement",
        "read_by", "counterparty", "amount", "summary",
    }
)  # fmt: skip
"""What a type takes over from the type that it extends, unless its own file says otherwise."""


class XmlDefinition(BaseModel):
    """The e-invoices that are documents of a type.

    message: what the XML is. type_codes: codes of UNTDID 1001 (BT-3 of EN 16931) that it must have; none for
    every code that no other type names.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    message: Literal["billing", "ordering", "despatch"]
    type_codes: tuple[str, ...] = ()


class TypeDefinition(BaseModel):
    """The name of a document type, its fields, and the rules that read and describe it.

    position: its place in lists. label: as people call it; title: the same in the title of a document.
    extends: a type whose fields and rules it has unless its file says otherwise. model: the class of its
    fields in `docmill.schemas.types`. critical: paths without which the data is of no use. is_trained: it
    is one of those that the shipped classifier was trained on. read_by: the rules of business papers, the
    model of receipts. line_items: where its lists are: in a table, on the paper of a till, as the bookings of
    an account. written_by: whose paper it is if nothing else says so. payment_terms, payment_method,
    settlement: which rules of payment apply. counterparty: the path of the name it is filed under. amount:
    the path of what it is about; a mail without it only speaks of such a document. summary: parts of a
    sentence with paths in braces; a part whose first value is missing is left out. xml: its e-invoices.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    position: int
    label: str
    title: str = ""
    extends: str = ""
    model: str
    critical: tuple[str, ...]
    is_trained: StrictBool = False
    read_by: Literal["rules", "receipt_model"] = "rules"
    line_items: Literal["table", "till", "bookings", "none"]
    written_by: Literal["seller", "buyer"]
    payment_terms: StrictBool
    payment_method: StrictBool
    settlement: StrictBool
    counterparty: str = "seller.name"
    amount: str = ""
    summary: tuple[str, ...] = ()
    xml: XmlDefinition | None = None

    @property
    def is_till_paper(self) -> bool:
        """True for what a till prints: narrow, and rounded to coins where it is paid in cash."""
        return self.line_items == "till"


def _load() -> Mapping[str, TypeDefinition]:
    files = [file for file in resources.files(__name__).iterdir() if file.name.endswith(".toml")]
    tables: dict[str, dict[str, Any]] = {
        file.name.removesuffix(".toml"): tomllib.loads(file.read_text(encoding="utf-8")) for file in files
    }
    definitions: dict[str, TypeDefinition] = {}
    for name, table in tables.items():
        extended = tables.get(table.get("extends", ""), {})
        inherited = {key: value for key, value in extended.items() if key in _INHERITED}
        definitions[name] = TypeDefinition.model_validate({**inherited, **table})
    return dict(sorted(definitions.items(), key=lambda item: item[1].position))


DEFINITIONS: Mapping[str, TypeDefinition] = _load()
"""Every type by its name, the name of its file; in the order of lists."""
DOCUMENT_TYPES = tuple(DEFINITIONS)
TRAINED_TYPES = tuple(name for name, definition in DEFINITIONS.items() if definition.is_trained)
"""The classes of the shipped classifier, in its order."""

if TYPE_CHECKING:
    DocumentType = str
else:
    DocumentType = Literal[DOCUMENT_TYPES]
    """The name of a built-in type; models with such a field take no other text."""


def known_type(name: str) -> DocumentType:
    """The built-in type of this name; `other` for a user's own type."""
    return name if name in DEFINITIONS else "other"


def type_of_xml(message: str, type_code: str | None) -> DocumentType:
    """The document type of an e-invoice. Raises ValueError if no type has such messages."""
    usual = ""
    for name, definition in DEFINITIONS.items():
        if definition.xml is not None and definition.xml.message == message:
            if type_code in definition.xml.type_codes:
                return name
            usual = usual if definition.xml.type_codes else name
    if not usual:
        raise ValueError(f"no document type has XML of {message!r}")
    return usual
