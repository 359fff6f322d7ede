"""The engines of this machine, by name; they run in the pool's children."""

from collections.abc import Callable
from functools import cache

from docmill.errors import MisconfiguredError
from docmill.reading.files.options import ReadingOptions
from docmill.reading.ocr.page import Engine


def _rapid(options: ReadingOptions) -> Engine:
    from docmill.reading.ocr.rapid import (  # noqa: PLC0415 - takes memory that others can do without
        rapid_engine,
    )

    del options
    return rapid_engine()


def _tesseract(options: ReadingOptions) -> Engine:
    from docmill.reading.ocr.tesseract import TesseractEngine  # noqa: PLC0415 - as above

    return TesseractEngine(options.languages)


_MADE: dict[str, Callable[[ReadingOptions], Engine]] = {"rapidocr": _rapid, "tesseract": _tesseract}

LOCAL = tuple(_MADE)
"""Their names."""


@cache
def local_engine(name: str, options: ReadingOptions) -> Engine:
    """This process's engine of that name. Raises MisconfiguredError for a name that no engine has."""
    if name not in _MADE:
        raise MisconfiguredError(f"there is no engine {name!r} on this machine; there are {', '.join(LOCAL)}")
    return _MADE[name](options)
