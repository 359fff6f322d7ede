"""Names of files that every system can unpack, each given once."""

import re
import unicodedata

_LONGEST_BYTES = 180
"""A file system takes 255; what is added to a name must fit, too."""
_FORBIDDEN = re.compile(r'[<>:"/\\|?*]')
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories of characters that show nothing, turn the text beside them, or end a line."""
_RESERVED = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3])\s*(?:\.|$)", re.IGNORECASE
)
"""Names that Windows takes for devices, also with an extension."""
_NAMELESS = "document"
_LONGEST_EXTENSION = 20


class SafeNames:
    """Gives every file a name of its own; upper and lower case do not tell names apart."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    def take(self, name: str) -> str:
        """A safe name like `name` that was not given before: `bill.pdf`, then `bill (2).pdf`."""
        name = safe_name(name)
        stem, extension = _split(name)
        candidate, number = name, self._taken.get(_key(name), 1)
        while _key(candidate) in self._taken:
            number += 1
            candidate = f"{stem} ({number}){extension}"
        self._taken[_key(name)] = number
        self._taken.setdefault(_key(candidate), 1)
        return candidate


def safe_name(name: str) -> str:
    """The name without folders and without what some system does not take or show."""
    name = unicodedata.normalize("NFC", name)
    name = "".join(letter for letter in name if unicodedata.category(letter) not in _HIDDEN)
    name = _FORBIDDEN.sub("_", name)
    stem, extension = _split(name)
    while len((stem + extension).encode()) > _LONGEST_BYTES:
        stem = stem[:-1]
    name = (stem + extension).strip(" .")
    if not name.strip("_"):
        return _NAMELESS
    return f"_{name}" if _RESERVED.match(name) else name


def _split(name: str) -> tuple[str, str]:
    stem, dot, extension = name.rpartition(".")
    if not stem or len(extension.encode()) > _LONGEST_EXTENSION:
        return name, ""
    return stem, dot + extension


def _key(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKC", name).casefold())
