"""Hebrew as old programs stored it: from left to right, in the order in which it stands on the screen."""

import re

FINALS = "ךםןףץ"
"""Letters that only end words: at the beginning of many, the words are written backwards."""
LETTERS = "א-ת"
BACKWARDS = re.compile(rf"(?<![{LETTERS}])[{FINALS}][{LETTERS}]")
FORWARDS = re.compile(rf"[{LETTERS}][{FINALS}](?![{LETTERS}])")
LEFT_TO_RIGHT = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.,:/@%+_'&-]*[A-Za-z0-9%])?(?: +[A-Za-z][\w.,'&-]*)*")
MIRRORED = str.maketrans("()[]{}<>", ")(][}{><")


def logical(text: str) -> str:
    """The text in the order in which it is read, if it is not yet."""
    if len(BACKWARDS.findall(text)) <= len(FORWARDS.findall(text)):
        return text
    return "".join(_turned(line) for line in text.splitlines(keepends=True))


def _turned(line: str) -> str:
    """The line read from its other end, except for numbers and words in Latin letters."""
    content = line.rstrip("\r\n")
    if not re.search(f"[{LETTERS}]", content):
        return line
    turned = content[::-1].translate(MIRRORED)
    return LEFT_TO_RIGHT.sub(lambda match: match[0][::-1], turned) + line[len(content) :]
