"""Comparison of texts of which one is a part of the other."""


def is_cut_otherwise(text: object, other: object) -> bool:
    """True if the longer of two different texts begins or ends with the shorter one."""
    if not isinstance(text, str) or not isinstance(other, str) or text == other:
        return False
    short, long = sorted((text, other), key=len)
    return long.startswith(short) or long.endswith(short)
