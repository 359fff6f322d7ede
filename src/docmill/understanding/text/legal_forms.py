"""Legal forms of firms, such as `GmbH & Co. KG`, in the names that have them."""

import re
from functools import lru_cache

from docmill.understanding.text.folding import token_texts, tokens
from docmill.understanding.vocabulary import LANGUAGES

LEGAL_FORMS = sorted(
    {token_texts(form) for language in LANGUAGES for form in (*language.legal, *language.parties.legal)},
    key=len,
    reverse=True,
)
_FINAL_FORMS = frozenset(token_texts(form) for language in LANGUAGES for form in language.parties.legal) - {
    token_texts(form) for language in LANGUAGES for form in language.legal
}
"""Legal forms that count at the end of a name only."""
_FORMS_BY_WORD = {
    first: [form for form in LEGAL_FORMS if form[0] == first] for first in {form[0] for form in LEGAL_FORMS}
}
"""Legal forms by their first word, the longest first."""
_LONGEST_CAPITAL_FORM = 3
"""Legal forms up to this length, such as SA or AG, count in capitals only: `co` and `ek` occur in prose."""
_DOTTED = re.compile(r"[^\W\d_]\.\s?[^\W\d_]\.")
"""Letters with full stops, as in `s.r.o.`, which prose has not at the end of a line."""


@lru_cache(maxsize=4096)
def legal_form_end(text: str) -> int:
    """The end of the last legal form in `text` that is not at its very beginning; 0 if there is none."""
    return _legal_form(text)[1]


def without_legal_form(text: str) -> str:
    """A name without the legal forms in it: `Sommer` for `Sommer GmbH & Co. KG`."""
    start, stop = _legal_form(text)
    return without_legal_form(text[:start] + text[stop:]) if stop else text.strip(" ,.&")


def _legal_form(text: str) -> tuple[int, int]:
    """Start and end of the last legal form in `text` that is not at its very beginning; zeros if none is."""
    words = tokens(text)
    texts = token_texts(text)
    for start in range(len(words) - 1, 0, -1):
        for form in _FORMS_BY_WORD.get(texts[start], ()):
            stop = start + len(form)
            is_short = len("".join(form)) <= _LONGEST_CAPITAL_FORM
            first, end = words[start].start, words[min(stop, len(words)) - 1].stop
            is_final = form not in _FINAL_FORMS or stop == len(texts)
            if (
                is_final
                and texts[start:stop] == form
                and not (is_short and not (_has_capital(text[first:end]) or _DOTTED.match(text, first)))
            ):
                return first, end + text[end:].startswith(".")
    return 0, 0


def _has_capital(text: str) -> bool:
    """True for `AG` and `eG`, not for a word such as `ab`."""
    return any(map(str.isupper, text))
