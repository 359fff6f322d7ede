"""Texts that differ only in where they begin or end."""


def is_cut_otherwise(text: object, other: object) -> bool:
    """True if two texts are the same but for where they begin or end."""
    if not isinstance(text, str) or not isinstance(other, str) or text == other:
        return False
    short, long = sorted((text, other), key=len)
    return long.startswith(short) or long.endswith(short)
