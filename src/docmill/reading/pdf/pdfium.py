"""PDFium's functions as they are.

pypdfium2's own bindings convert every argument, which takes longer than what is called.
"""

import ctypes
from collections import deque
from collections.abc import Callable, Iterable
from ctypes import c_int
from itertools import repeat
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from docmill.reading.pdf.pdf_file import PdfPage, PdfTextPage, raw

Pointer: TypeAlias = ctypes.c_void_p
Call: TypeAlias = Callable[..., Any]


def address(function_or_handle: Any) -> int:  # noqa: ANN401 - ctypes' pointers have no common type
    """Address of one of PDFium's objects in memory."""
    return ctypes.cast(function_or_handle, ctypes.c_void_p).value or 0


def raw_function(function: Any, result: type, *arguments: type) -> Call:  # noqa: ANN401 - as above
    """A function of PDFium's that takes addresses, and numbers, as plain integers."""
    return ctypes.CFUNCTYPE(result, *arguments)(address(function))


def exhaust(calls: Iterable[object]) -> None:
    """Make calls that leave their results in memory."""
    deque(calls, maxlen=0)


SAMPLE = 200
"""How many characters are asked what only a costly call can tell."""
SURROGATES = range(0xD800, 0xE000)
PRIVATE = range(0xE000, 0xF900)
LAST_CODE = 0x10FFFF
UNKNOWN = 0xFFFD
FIRST_PRINTING = 32
HYPHEN = 2
"""What PDFium gives for a hyphen at a line's end."""
SPACES = np.array([0, 9, 10, 11, 12, 13, 32, 0xA0, *range(0x2000, 0x200C), 0x202F, 0x3000, 0xFEFF], np.uint32)
_IS_SPACE = np.isin(np.arange(0x10000), SPACES)
MANY_SWAPPED = 0.5
"""Share of characters whose second byte is zero: Latin letters whose bytes were swapped."""
INVISIBLE = 3
"""Text render mode, ISO 32000-1, 9.3.6."""

_loose_box = raw_function(raw.FPDFText_GetLooseCharBox, c_int, Pointer, c_int, Pointer)
_is_generated = raw_function(raw.FPDFText_IsGenerated, c_int, Pointer, c_int)
_has_no_unicode = raw_function(raw.FPDFText_HasUnicodeMapError, c_int, Pointer, c_int)
_object_of = raw_function(raw.FPDFText_GetTextObject, Pointer, Pointer, c_int)
_render_mode = raw_function(raw.FPDFTextObj_GetTextRenderMode, c_int, Pointer)


class Characters(NamedTuple):
    """Printing characters of a page in the file's order.

    indices: PDFium's number of each. codes: uint32. boxes: float32, shape (n, 4), points, unrotated page,
    origin top left, each as wide as the character's advance. spaced: bool, a space of the file stands before;
    maybe_spaced: PDFium guesses one.
    """

    indices: NDArray[np.intp]
    codes: NDArray[np.uint32]
    boxes: NDArray[np.float32]
    spaced: NDArray[np.bool_]
    maybe_spaced: NDArray[np.bool_]

    def only(self, kept: NDArray[np.bool_]) -> "Characters":
        """Those marked in `kept`; a space before one that is left out comes before the next."""
        chosen = np.flatnonzero(kept)
        return Characters(
            self.indices[chosen],
            self.codes[chosen],
            self.boxes[chosen],
            _any_up_to(self.spaced, chosen),
            _any_up_to(self.maybe_spaced, chosen),
        )


def read_characters(text: PdfTextPage, page: PdfPage) -> Characters:
    """Every printing character of a page."""
    count = text.count_chars()
    codes = _codes(text, count)
    blank = _IS_SPACE[np.minimum(codes, len(_IS_SPACE) - 1)]
    indices = np.flatnonzero(~blank)
    generated = np.zeros(count, np.bool_)
    blanks: list[int] = np.flatnonzero(blank).tolist()
    flags = map(_is_generated, repeat(address(text.raw)), blanks)
    generated[blanks] = np.fromiter(flags, np.intc, len(blanks)) == 1
    # Boxes with the full advance: tight ones leave gaps inside words.
    boxes = np.zeros((len(indices), 4), np.float32)
    start = boxes.ctypes.data
    places = range(start, start + boxes.nbytes, boxes.itemsize * 4)
    exhaust(map(_loose_box, repeat(address(text.raw)), indices.tolist(), places))
    left, _, _, top = page.get_bbox()
    # FS_RECTF is left, top, right, bottom with y upwards; some fonts give them in the wrong order.
    x, y = np.sort(boxes[:, [0, 2]] - left, axis=1), np.sort(top - boxes[:, [1, 3]], axis=1)
    return Characters(
        indices=indices,
        codes=np.where(codes == HYPHEN, ord("-"), codes)[indices],
        boxes=np.nan_to_num(np.stack([x[:, 0], y[:, 0], x[:, 1], y[:, 1]], axis=1)),
        spaced=_any_before(blank & ~generated, indices),
        maybe_spaced=_any_before(generated, indices),
    )


def _any_before(marks: NDArray[np.bool_], indices: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Mask of the characters with a mark between them and the character before."""
    counts = np.cumsum(marks)[indices]
    return np.diff(counts, prepend=0) > 0


def _any_up_to(marks: NDArray[np.bool_], chosen: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Mask of the chosen places with a mark there or since the chosen place before."""
    counts = np.cumsum(marks)[chosen]
    return np.diff(counts, prepend=0) > 0


def _codes(text: PdfTextPage, count: int) -> NDArray[np.uint32]:
    """The Unicode of each character, in one call where text and characters agree in number."""
    buffer = (ctypes.c_ushort * (count + 1))()
    if raw.FPDFText_GetText(text, 0, count, buffer) == count + 1:
        codes = np.frombuffer(memoryview(buffer), np.uint16)[:count].astype(np.uint32)
        if not within(codes, SURROGATES).any():
            return codes
    unicode_of, handle = raw.FPDFText_GetUnicode, text.raw
    codes = np.array([unicode_of(handle, index) for index in range(count)], np.uint32)
    invalid = within(codes, SURROGATES) | (codes > LAST_CODE)
    return np.where(invalid, UNKNOWN, codes).astype(np.uint32)


def within(codes: NDArray[np.uint32], bounds: range) -> NDArray[np.bool_]:
    """Mask of the codes in a range."""
    return (codes >= bounds.start) & (codes < bounds.stop)


def find_garbled(text: PdfTextPage, characters: Characters) -> tuple[NDArray[np.bool_], float]:
    """Mask of characters without a known letter, and their share, to which a sample adds unmapped ones."""
    codes = characters.codes
    meaningless = within(codes, PRIVATE) | (codes == UNKNOWN) | (codes < FIRST_PRINTING)
    swapped = codes & 0xFF == 0
    if swapped.mean() > MANY_SWAPPED:
        meaningless |= swapped
    sample = characters.indices[:: max(1, len(codes) // SAMPLE)].tolist()
    unmapped = sum(flag == 1 for flag in map(_has_no_unicode, repeat(address(text.raw)), sample))
    return meaningless, max(float(meaningless.mean()), unmapped / len(sample))


def find_invisible(text: PdfTextPage, characters: Characters) -> NDArray[np.bool_]:
    """Mask of invisible characters, such as those under a scan, which are there only to be found.

    A sample is asked first: text that is shown is shown throughout on nearly every page.
    """
    sample = characters.indices[:: max(1, len(characters.codes) // SAMPLE)].tolist()
    if not _hidden(_objects(text, sample)):
        return np.zeros(len(characters.codes), np.bool_)
    objects = _objects(text, characters.indices.tolist())
    hidden = _hidden(objects)
    return np.array([each in hidden for each in objects], np.bool_)


def _objects(text: PdfTextPage, indices: list[int]) -> list[int | None]:
    """The text object of each character; generated ones have none."""
    return list(map(_object_of, repeat(address(text.raw)), indices))


def _hidden(objects: list[int | None]) -> set[int]:
    """Those of them that are not drawn."""
    return {each for each in set(objects) if each is not None and _render_mode(each) == INVISIBLE}
