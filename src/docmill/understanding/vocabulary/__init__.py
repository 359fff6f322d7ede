"""Words of labels, titles and addresses: one table of data per language, `en.toml` and so on."""

from docmill.understanding.vocabulary.concepts import Column, Concept
from docmill.understanding.vocabulary.languages import CODES, LANGUAGES, NUMBER_WORDS, Language

__all__ = ["CODES", "LANGUAGES", "NUMBER_WORDS", "Column", "Concept", "Language"]
