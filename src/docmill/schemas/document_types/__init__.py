"""The built-in document types: a file of fields and rules for each in this folder, of words in `words`."""

import re
import tomllib
from collections.abc import Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, StrictBool, ValidationError

from docmill.errors import MisconfiguredError

_NOT_INHERITED = frozenset({"position", "label", "title", "is_trained", "recognition", "xml"})
"""Keys that a type does not inherit from the type that it extends."""

PATH_IN_BRACES = re.compile(r"\{([\w.]+)\}")
"""A field's path in a message or summary, `{seller.name}`."""

Phrases = tuple[str, ...]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class XmlDefinition(_Table):
    """The e-invoices that are documents of a type.

    message: what the XML is. type_codes: codes of UNTDID 1001 (BT-3 of EN 16931) that it must have; none for
    every code that no other type names.
    """

    message: Literal["billing", "ordering", "despatch"]
    type_codes: tuple[str, ...] = ()


class FieldDefinition(_Table):
    """A field of a type that has no class in `docmill.schemas.types`.

    name: as people call it. read_as: a field of business papers whose rules read it where no label names it;
    of a type that is read by rules, the field whose value it is. is_positive: a minus before it means "less".
    """

    name: str
    kind: Literal["text", "date", "time", "decimal", "integer", "boolean"] = "text"
    description: str = ""
    read_as: str = ""
    is_positive: StrictBool = False


class CheckDefinition(_Table):
    """A check of the gate: an equation or inequality of fields, which holds where one of them is null.

    left, right: paths that are added up, or subtracted after a `-`; nothing is zero. message: with paths in
    braces.
    """

    name: str
    left: tuple[str, ...]
    relation: Literal["=", ">="]
    right: tuple[str, ...] = ()
    message: str


class Recognition(_Table):
    """The evidence by which a document is of a type that the shipped classifier was not trained on.

    It must have a title of the type's words. labels: so many of the fields in `fields` must have a label on
    the first page, too; zero for a type that only refines the one that it extends. phrases: of so many groups
    of the type's phrases one must stand in its text. untitled: of so many where there is no title; zero if it
    must have one.
    """

    labels: int = 0
    fields: tuple[str, ...] = ()
    phrases: int = 0
    untitled: int = 0


class TypeWords(_Table):
    """The words of a type, by language.

    titles: phrases that stand in the title of such documents and of no others. doubtful: titles of other
    documents, too, each with words anywhere on the document that settle it; without one it is not of the
    type, and a person is asked. contrary: words that speak against the type where the title is doubtful; for
    a trained type, words by which a document says that it is none, so that a person is asked.
    phrases: words of the text of such documents, by group and language; after a `^` those that begin a line.
    sentences: words of the sentence that names the day and two parties of an agreement: what it calls itself
    (`this`, `agreement`), words before the first name (`opening`), between both (`joining`), before a name
    (`address`), behind it (`end`), before another name of the same party (`alias`); what
    begins the text behind it (`recitals`), stands above signatures (`closing`), labels the places of
    signatures (`signing`), and stands before other days (`effective`).
    references: words before the number or date of an invoice that is not the document's own.
    other_amounts: headings and words before amounts that are not those of the document, such as the year's.
    labels: of each field, by its path.
    """

    titles: Mapping[str, Phrases] = {}
    doubtful: Mapping[str, Mapping[str, Phrases]] = {}
    contrary: Mapping[str, Phrases] = {}
    phrases: Mapping[str, Mapping[str, Phrases]] = {}
    sentences: Mapping[str, Mapping[str, Phrases]] = {}
    references: Mapping[str, Phrases] = {}
    other_amounts: Mapping[str, Phrases] = {}
    labels: Mapping[str, Mapping[str, Phrases]] = {}


def _field(value: object) -> object:
    return {"name": value} if isinstance(value, str) else value


class TypeDefinition(_Table):
    """The name of a document type, its fields, and the rules that read and describe it.

    position: its place in lists. label: as people call it; title: the same in the title of a document.
    extends: a type whose fields and rules it has unless its file says otherwise. model: the class of its
    fields in `docmill.schemas.types`; fields: those that it has beside them, by path. critical: paths without
    which the data is of no use. is_trained: it is one of those that the shipped classifier was trained on;
    recognition: the evidence for one that is not. read_by: the rules of business papers, the model of
    receipts, or the labels of its fields alone. line_items: where its lists are: in a table, on the paper of
    a till, as the bookings of an account. written_by: whose paper it is if nothing else says so.
    payment_terms, payment_method, settlement: which rules of payment apply. is_positive: amounts that are all
    printed as negative are meant as positive ones. counterparty: the path of the name it is filed under.
    amount: the path of what it is about; a mail without it only speaks of such a document. summary: parts of
    a sentence with paths in braces; a part whose first value is missing is left out.
    floors: the least confidence of fields, where it is not the usual one; a value below it is withheld. xml:
    its e-invoices.
    """

    position: int
    label: str
    title: str = ""
    extends: str = ""
    model: str = ""
    fields: Mapping[str, Annotated[FieldDefinition, BeforeValidator(_field)]] = {}
    critical: tuple[str, ...]
    is_trained: StrictBool = False
    recognition: Recognition = Recognition()
    read_by: Literal["rules", "receipt_model", "labels"] = "rules"
    line_items: Literal["table", "till", "bookings", "none"] = "none"
    written_by: Literal["seller", "buyer"] = "seller"
    payment_terms: StrictBool = False
    payment_method: StrictBool = False
    settlement: StrictBool = False
    is_positive: StrictBool = False
    counterparty: str = "seller.name"
    amount: str = ""
    summary: tuple[str, ...] = ()
    checks: tuple[CheckDefinition, ...] = ()
    floors: Mapping[str, float] = {}
    xml: XmlDefinition | None = None
    words: TypeWords = TypeWords()

    @property
    def is_till_paper(self) -> bool:
        """True for what a till prints: narrow, and rounded to coins where it is paid in cash."""
        return self.line_items == "till"

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """The labels of each field in all languages, by its path."""
        return {
            path: tuple(dict.fromkeys(label for labels in by_language.values() for label in labels))
            for path, by_language in self.words.labels.items()
        }


def load_types(folder: Traversable) -> Mapping[str, TypeDefinition]:
    """The types of a folder, by their names, in the order of lists. Each has a file; words are in `words`.

    Raises MisconfiguredError, naming file and key, for a key that is missing, unknown or of the wrong kind.
    """
    tables = _tables(folder)
    words = _tables(folder.joinpath("words"))
    if unnamed := sorted(words.keys() - tables.keys()):
        raise MisconfiguredError(f"words/{unnamed[0]}.toml: there is no document type '{unnamed[0]}'")
    definitions: dict[str, TypeDefinition] = {}
    for name, table in tables.items():
        extended = table.get("extends", "")
        if extended and extended not in tables:
            raise MisconfiguredError(f"{name}.toml: extends: there is no document type '{extended}'")
        inherited = {
            key: value for key, value in tables.get(extended, {}).items() if key not in _NOT_INHERITED
        }
        try:
            definitions[name] = TypeDefinition.model_validate(
                {**inherited, **table, "words": words.get(name, {})}
            )
        except ValidationError as error:
            problems = [f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}" for detail in error.errors()]
            raise MisconfiguredError(f"{name}.toml: {'; '.join(problems)}") from error
    return dict(sorted(definitions.items(), key=lambda item: item[1].position))


def _tables(folder: Traversable) -> dict[str, dict[str, Any]]:
    tables: dict[str, dict[str, Any]] = {}
    for file in folder.iterdir():
        if file.name.endswith(".toml"):
            try:
                tables[file.name.removesuffix(".toml")] = tomllib.loads(file.read_text(encoding="utf-8"))
            except ValueError as error:
                raise MisconfiguredError(f"{file.name}: {error}") from error
    return tables


DEFINITIONS: Mapping[str, TypeDefinition] = load_types(resources.files(__name__))
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
