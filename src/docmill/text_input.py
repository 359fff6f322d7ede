"""The check of every text that comes from outside: from requests, from programs and from the command line."""

from typing import Any, cast

from docmill.errors import ValidationError

UNSTORABLE = "A text has a character that cannot be stored: NUL, or half of a character. Remove it."


def check_text(text: str) -> None:
    """Raise ValidationError for a text that UTF-8 cannot encode or PostgreSQL cannot store.

    JSON can name halves of characters (surrogates), some encodings of forms contain them, and arguments of
    commands have them for bytes that are no UTF-8. PostgreSQL stores no NUL.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValidationError(UNSTORABLE) from error
    if "\0" in text:
        raise ValidationError(UNSTORABLE)


def check_texts(value: object) -> None:
    """Check every text in a value as JSON has it, also the keys. Raises ValidationError."""
    waiting = [value]  # no recursion: JSON from outside may be nested deeply
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            check_text(value)
        elif isinstance(value, dict):
            items = cast("dict[Any, Any]", value)
            waiting += items.keys()
            waiting += items.values()
        elif isinstance(value, list | tuple):
            waiting += cast("list[Any]", value)
