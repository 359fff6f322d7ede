"""The words of labels, titles and addresses that docmill knows: one file per language, such as `en.toml`."""

from docmill.understanding.vocabulary.concepts import Column, Concept
from docmill.understanding.vocabulary.languages import CODES, LANGUAGES, NUMBER_WORDS, Language

__all__ = ["CODES", "LANGUAGES", "NUMBER_WORDS", "Column", "Concept", "Language"]
