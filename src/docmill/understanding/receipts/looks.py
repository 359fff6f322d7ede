"""What a piece of text looks like, as a row of numbers."""

import re
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from docmill.understanding.constraints.address_features import (
    FIRM_WORDS,
    HOUSE,
    LEGAL_FORMS,
    NET,
    PHONE,
    POSTCODE,
    REGIONS,
    REGISTRATION,
    STREET_ENDS,
    STREET_PHRASES,
    STREET_WORDS,
    legal_form_end,
)
from docmill.understanding.text.folding import fold, tokens

LOOKS = (
    "length", "letters", "digits", "words", "capitals", "commas", "firms", "streets", "regions", "legal",
    "ends_legal", "postcode", "house", "phone", "net", "registration", "ends_comma", "opens", "open", "colon",
    "conjunction", "small", "starts_legal", "beside_legal", "ends_region",
)  # fmt: skip
_SHORTEST_STREET_END = 6
_REGION = re.compile(
    r"\b(?:" + "|".join(re.escape(region) for region in sorted(REGIONS, key=len, reverse=True)) + r")\b"
)
_ENDS_REGION = re.compile(_REGION.pattern + r"\W*(?:d\.?\s?e\.?)?\W*$")
_LEGAL_WORDS = frozenset(word for form in LEGAL_FORMS for word in form) | {"m"}
_GLUED_STREET = re.compile(r"^(?:jalan|taman|lorong|jln|persiaran|calle|rue|via)\w{3,}")
_CONJUNCTION = re.compile(r"(?:&|\band|\bof|\bthe|\bund|\bet|\by|-|\bby)\W*$")
Look = NDArray[np.float32]


@lru_cache(maxsize=8192)
def look(text: str) -> Look:
    """One row of `LOOKS`."""
    folded = fold(text)
    words = [token.text for token in tokens(text)]
    legal = legal_form_end(text)
    letters = sum(map(str.isalpha, text))
    streets = sum(_is_street(word) for word in words) + sum(phrase in folded for phrase in STREET_PHRASES)
    stripped = text.rstrip()
    return np.array(
        [
            len(text),
            letters,
            sum(map(str.isdecimal, text)),
            len(words),
            sum(map(str.isupper, text)) / max(1, letters),
            text.count(","),
            sum(word in FIRM_WORDS for word in words),
            streets,
            len(_REGION.findall(folded)),
            legal > 0,
            legal > 0 and not any(map(str.isalnum, text[legal:])),
            POSTCODE.search(folded) is not None,
            HOUSE.search(folded) is not None,
            PHONE.search(folded) is not None,
            NET.search(folded) is not None,
            REGISTRATION.match(folded) is not None,
            stripped.endswith(","),
            text.startswith("("),
            text.count("(") - text.count(")"),
            ":" in text,
            _CONJUNCTION.search(folded) is not None,
            text.islower(),
            bool(words) and words[0] in _LEGAL_WORDS,
            sum(len(word) for word in words if word not in _LEGAL_WORDS and not word.isdecimal()),
            _ENDS_REGION.search(folded) is not None,
        ],
        np.float32,
    )


def _is_street(word: str) -> bool:
    if word in STREET_WORDS or _GLUED_STREET.match(word):
        return True
    return len(word) >= _SHORTEST_STREET_END and word.endswith(STREET_ENDS)
