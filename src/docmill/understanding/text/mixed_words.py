"""Words of letters and digits, as those are read whose letters look like digits."""

import re

_MIXED = re.compile(r"[^\W\d_]\d+[^\W\d_]|^[^\W\d_]{2,}\d|^\d+[^\W\d_]{3,}|[^\W\d_]['|!\[\]][^\W\d_]?$")


def has_mixed_words(text: str) -> bool:
    """True if a word has letters and digits, as `C0rvid`; not for `12a` or `B4`."""
    return any(_MIXED.search(word) for word in text.split())
