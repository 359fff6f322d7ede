"""Fields whose values are codes, with the words that people are shown for them."""

from collections.abc import Mapping

from docmill.schemas import payment_methods, tax_categories

WORDS_BY_PATH: Mapping[str, Mapping[str, str]] = {
    payment_methods.PATH: payment_methods.PAYMENT_METHODS,
    tax_categories.PATH: tax_categories.TAX_CATEGORIES,
}


def value_in_words(path: str, value: str) -> str:
    """Return a value as people are shown it: a code in words, everything else as it is."""
    return WORDS_BY_PATH.get(path, {}).get(value, value)
