"""Collects the texts of the pages into their catalogues: `python -m docmill.web.extraction`."""

from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

from docmill.matching.wording import DISCREPANCIES, REASONS, RELATION_NAMES
from docmill.reading.files import containers
from docmill.reading.formats import ole_objects, supporting_documents
from docmill.reading.mail import uuencode
from docmill.reading.mail.linked_documents import ONLY_LINKED
from docmill.reading.mail.outlook_msg import ELSEWHERE, EMBEDDED
from docmill.reading.pdf import attached_files
from docmill.reading.statements.booking_rows import GUESSED_DIRECTIONS
from docmill.schemas.coded_values import WORDS_BY_PATH
from docmill.schemas.document_types import DEFINITIONS
from docmill.schemas.field_names import FIELD_NAMES, TABLES
from docmill.service.intake.attachment_kinds import LEFT_OUT
from docmill.service.webhooks.webhook_sender import RECEIVER_GONE
from docmill.text_input import UNSTORABLE
from docmill.understanding.formulas import UNCALCULATED
from docmill.understanding.statement_files import UNKNOWN_COLUMNS
from docmill.web.languages import LANGUAGES, SOURCE, path_of
from docmill.web.view.source_words import source_texts

_ROOT = Path(__file__).parent
_PREFIX = "docmill/web"
_METHODS = [("templates/**.html", "jinja2"), ("static/**.js", "javascript"), ("**.py", "python")]
_OPTIONS = {"templates/**.html": {"trimmed": "true", "trim_blocks": "true", "lstrip_blocks": "true"}}
_KEYWORDS = {"_": None, "gettext": None, "gettext_noop": None, "ngettext": (1, 2)}
_WIDTH = 110


def source_catalogue() -> Catalog:
    """Return all texts, with the files that have them."""
    catalogue = Catalog(project="docmill", fuzzy=False)
    for path, _line, message, comments, _context in extract_from_dir(
        _ROOT, _METHODS, _OPTIONS, keywords=_KEYWORDS
    ):
        catalogue.add(message, locations=[(f"{_PREFIX}/{Path(path).as_posix()}", 0)], auto_comments=comments)
    for name in _names_of_the_core():
        catalogue.add(name, locations=[("docmill/schemas", 0)])
    for text in _problems_of_parts():
        catalogue.add(text, locations=[("docmill/reading", 0)])
    catalogue.add(UNSTORABLE, locations=[("docmill/service", 0)])
    for text in (UNCALCULATED, GUESSED_DIRECTIONS, UNKNOWN_COLUMNS):
        catalogue.add(text, locations=[("docmill/understanding", 0)])
    catalogue.add(RECEIVER_GONE, locations=[("docmill/service/webhooks", 0)])
    for text in source_texts():
        catalogue.add(text, locations=[("docmill/service/sources", 0)])
    return catalogue


def _problems_of_parts() -> Iterator[str]:
    """The reasons why a file within a document was not added, as far as they name no values."""
    yield from (ONLY_LINKED, ELSEWHERE, EMBEDDED, LEFT_OUT)
    yield from (containers.EMPTY, containers.TOO_MUCH, containers.ENCRYPTED, containers.LINK)
    yield from (attached_files.DAMAGED, attached_files.TOO_MANY, attached_files.UNKNOWN_FILTER)
    yield from (uuencode.DAMAGED, supporting_documents.DAMAGED)
    yield from (ole_objects.DAMAGED, ole_objects.OBJECT, containers.UNKNOWN_PACKING)


def _names_of_the_core() -> Iterator[str]:
    """Names of types, fields, means of payment and links: the core knows no catalogues."""
    yield from (definition.label for definition in DEFINITIONS.values())
    yield from FIELD_NAMES.values()
    for heading, columns in TABLES.values():
        yield heading
        yield from columns.values()
    for words in WORDS_BY_PATH.values():
        yield from words.values()
    yield from RELATION_NAMES.values()
    yield from REASONS.values()
    yield from DISCREPANCIES.values()


def update() -> None:
    """Bring every catalogue up to date; the texts without a translation are left empty."""
    source = source_catalogue()
    for language in LANGUAGES.keys() - {SOURCE}:
        path = path_of(language)
        path.parent.mkdir(parents=True, exist_ok=True)
        catalogue = Catalog(locale=language, project="docmill", fuzzy=False)
        if path.exists():
            with path.open("rb") as file:
                catalogue = read_po(file, locale=language)
            source.creation_date = catalogue.creation_date  # a new date alone would be a change
        catalogue.update(source, no_fuzzy_matching=True)
        catalogue.obsolete.clear()
        with path.open("wb") as file:
            write_po(file, catalogue, width=_WIDTH, include_lineno=False, sort_output=True, omit_header=False)


if __name__ == "__main__":
    update()
