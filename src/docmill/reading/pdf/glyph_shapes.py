"""Comparison of the characters that the fonts of a PDF claim with the shapes that they draw.

A font's map to Unicode can lie: the page shows 6 where the text says 9. Each shape is compared with those of
PDFium's own fonts. That proves nothing, since a decorative font resembles none of them; it tells which pages
are to be recognised as well.
"""

import contextlib
import ctypes
import string
from collections.abc import Iterable, Mapping
from ctypes import c_double, c_float
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from docmill.reading.pdf.page_objects import Call, Characters, Pointer, raw_function, text_objects
from docmill.reading.pdf.pdf_file import PdfDocument, PdfPage, PdfTextPage, pdfium, raw

Gray: TypeAlias = NDArray[np.uint8]
Vectors: TypeAlias = NDArray[np.float32]
FontKey: TypeAlias = tuple[bytes, int, int]

KNOWN = string.digits + string.ascii_letters
"""Characters whose shapes are known."""
ALIKE = ("1Iil", "CceGo", "Kk", "MmNnHhu", "Pp", "Ss", "VvYy", "Ww", "Xx", "Zz", "ft", "OoQD")
"""Letters that only their size or a detail tells apart."""
STANDARD_FONTS = (
    *("Helvetica", "Helvetica-Bold", "Helvetica-Oblique", "Helvetica-BoldOblique"),
    *("Times-Roman", "Times-Bold", "Times-Italic", "Times-BoldItalic"),
    *("Courier", "Courier-Bold", "Courier-Oblique", "Courier-BoldOblique"),
)
NARROW = 0.75
"""Width of the letters of a narrow font, relative to those of its family."""
MOST_LETTERS = 12
"""Letters of a font that are looked at, the commonest first. All digits are."""
INSTANCES = 2
"""Glyphs of one character that are looked at: a neighbour may overlap one of them."""
SIDE_PX = 14
"""Side of the square to which shapes are fitted."""
HEIGHT_PX = 24.0
"""Height in which glyphs are drawn."""
MOST_SCALE = 20.0
MOST_PX = 2_000_000
"""Pixels of a drawn text object; a larger one is not looked at."""
MOST_FONTS = 50
"""Fonts of a page that are looked at, those with the most text objects first."""
FLAT = 1e-9
"""Determinant of a matrix that draws nothing."""
INK = 96
"""Least opacity of a pixel that belongs to a glyph."""
CONTRADICTED_DIGIT, CONTRADICTED_LETTER = 0.03, 0.12
"""Excess from which on a claim counts as contradicted. No digit of the fonts of 300 honest files has it."""
FEWEST_LETTERS = 2
"""Contradicted letters of a font that count; a single one may be drawn in an unusual way."""
_KNOWN_CODES = np.isin(np.arange(128), np.frombuffer(KNOWN.encode(), np.uint8))

_font_of: Call = raw_function(raw.FPDFTextObj_GetFont, Pointer, Pointer)


class Claim(NamedTuple):
    """Similarities, from -1 to 1, of a glyph to the claimed character and to the likest other of its kind."""

    own: float
    other: float

    @property
    def excess(self) -> float:
        """By how much more the glyph resembles another character."""
        return self.other - self.own


@dataclass(slots=True)
class GlyphShapes:
    """The claims of a document's fonts, each font's characters looked at once."""

    document: PdfDocument
    _claims: dict[FontKey, dict[str, Claim]] = field(default_factory=dict[FontKey, dict[str, Claim]])

    def find_contradicted(
        self, page: PdfPage, text: PdfTextPage, characters: Characters
    ) -> NDArray[np.bool_]:
        """Mask of the digits and letters that their font draws with the shapes of others."""
        indices: list[int] = []
        fonts = sorted(_glyphs_by_font(text, characters).items(), key=lambda item: -len(item[1]))
        for font, glyphs in fonts[:MOST_FONTS]:
            claims = self._claims.setdefault(_font_key(font), {})
            wanted = _characters_to_check(glyphs) - claims.keys()
            if wanted:
                shapes = _draw_glyphs(self.document, page, text, glyphs=glyphs, wanted=wanted)
                claims.update(_compare_shapes(shapes))
            doubted = _contradicted_characters(claims)
            if doubted:
                all_glyphs = (glyph for members in glyphs.values() for glyph in members)
                indices += [index for letter, index in all_glyphs if letter in doubted]
        return np.isin(characters.indices, indices)


def _contradicted_characters(claims: Mapping[str, Claim]) -> set[str]:
    digits = {letter for letter in claims if letter.isdigit()}
    wrong_digits = {digit for digit in digits if claims[digit].excess > CONTRADICTED_DIGIT}
    wrong_letters = {
        letter for letter in claims.keys() - digits if claims[letter].excess > CONTRADICTED_LETTER
    }
    return wrong_digits | (wrong_letters if len(wrong_letters) >= FEWEST_LETTERS else set[str]())


Glyphs: TypeAlias = dict[int, list[tuple[str, int]]]
"""Characters and their PDFium numbers by the address of the text object that draws them."""


def _glyphs_by_font(text: PdfTextPage, characters: Characters) -> dict[int, Glyphs]:
    """The glyphs of known characters by the address of their font, of fonts that the file brings."""
    is_known = (characters.codes < len(_KNOWN_CODES)) & _KNOWN_CODES[np.minimum(characters.codes, 127)]
    indices = characters.indices[is_known]
    letters = characters.codes[is_known].astype(np.uint8).tobytes().decode("ascii")
    owners = text_objects(text, indices)
    embedded: dict[int, int] = {}  # font by text object, of fonts that the file brings
    is_embedded: dict[int, bool] = {}
    for item in {owner for owner in owners if owner is not None}:
        font = _font_of(item)
        if font not in is_embedded:
            is_embedded[font] = raw.FPDFFont_GetIsEmbedded(_as_font(font)) == 1
        if is_embedded[font]:
            embedded[item] = font
    fonts: dict[int, Glyphs] = {}
    if not embedded:
        return fonts
    for item, letter, index in zip(owners, letters, indices.tolist(), strict=True):
        if item in embedded:
            fonts.setdefault(embedded[item], {}).setdefault(item, []).append((letter, index))
    return fonts


def _as_font(address: int) -> Any:  # noqa: ANN401 - PDFium's
    return ctypes.cast(address, raw.FPDF_FONT)


def _font_key(address: int) -> FontKey:
    """Identity of a font in its file; its address may be another font's on the next page."""
    font, name, size = _as_font(address), ctypes.create_string_buffer(200), ctypes.c_size_t()
    raw.FPDFFont_GetBaseFontName(font, name, len(name))
    raw.FPDFFont_GetFontData(font, None, 0, size)
    return name.value, size.value, raw.FPDFFont_GetFlags(font)


def _characters_to_check(glyphs: Glyphs) -> set[str]:
    text = "".join(letter for members in glyphs.values() for letter, _ in members)
    used = set(text)
    letters = sorted(
        (letter for letter in used if letter.isalpha()), key=lambda letter: (-text.count(letter), letter)
    )
    return {letter for letter in used if letter.isdigit()} | set(letters[:MOST_LETTERS])


def _draw_glyphs(
    document: PdfDocument, page: PdfPage, text: PdfTextPage, *, glyphs: Glyphs, wanted: set[str]
) -> list[tuple[str, Vectors]]:
    """Shapes of the wanted characters, of as few text objects as possible."""
    letters = {item: {letter for letter, _ in members} & wanted for item, members in glyphs.items()}
    shapes: list[tuple[str, Vectors]] = []
    missing = set(wanted)
    while missing:
        item = max(letters, key=lambda item: len(letters[item] & missing) / (8 + len(glyphs[item])))
        drawn = letters[item] & missing
        missing -= drawn
        chosen = [
            glyph for letter in drawn for glyph in [g for g in glyphs[item] if g[0] == letter][:INSTANCES]
        ]
        shapes += _draw_object(document, page, text, item=item, glyphs=chosen)
    return shapes


def _draw_object(
    document: PdfDocument, page: PdfPage, text: PdfTextPage, *, item: int, glyphs: list[tuple[str, int]]
) -> list[tuple[str, Vectors]]:
    """Shapes of some characters of a text object, which is drawn by itself."""
    handle = ctypes.cast(item, raw.FPDF_PAGEOBJECT)
    bounds = [c_float() for _ in range(4)]
    if not raw.FPDFPageObj_GetBounds(handle, *bounds):
        return []
    left, _, _, top = (edge.value for edge in bounds)
    boxes = _boxes_within(text, handle, [index for _, index in glyphs])
    turns = round(raw.FPDFText_GetCharAngle(text, glyphs[0][1]) / (np.pi / 2)) % 4
    extents = boxes[:, 2:] - boxes[:, :2]
    height = float(np.median(extents[:, 1 - turns % 2]))
    if not height > 0:
        return []
    right, bottom = bounds[2].value, bounds[1].value
    scale = min(MOST_SCALE, HEIGHT_PX / height)
    if not (right - left) * (top - bottom) * scale**2 < MOST_PX:
        return []
    bitmap = raw.FPDFTextObj_GetRenderedBitmap(document, page, handle, scale)
    if not bitmap:
        return []
    ink = _opacity(bitmap)
    shapes: list[tuple[str, Vectors]] = []
    places = np.stack([boxes[:, 0] - left, top - boxes[:, 3], boxes[:, 2] - left, top - boxes[:, 1]], axis=1)
    for (letter, _), (x0, y0, x1, y1) in zip(
        glyphs, np.maximum(places * scale, 0).astype(int).tolist(), strict=True
    ):
        shape = _shape_of(np.rot90(ink[y0 : y1 + 2, x0 : x1 + 2], turns))
        if shape is not None:
            shapes.append((letter, shape))
    return shapes


def _boxes_within(text: PdfTextPage, handle: Any, indices: list[int]) -> NDArray[np.float64]:  # noqa: ANN401
    """Boxes of characters in the space of their object, a form's for one: left, bottom, right, top."""
    edges = [c_double() for _ in range(4)]
    boxes = np.zeros((len(indices), 4))
    for row, index in enumerate(indices):
        raw.FPDFText_GetCharBox(text, index, *edges)
        x0, x1, y0, y1 = (edge.value for edge in edges)
        boxes[row] = x0, y0, x1, y1
    own, on_page = raw.FS_MATRIX(), raw.FS_MATRIX()
    raw.FPDFPageObj_GetMatrix(handle, own)
    raw.FPDFText_GetMatrix(text, indices[0], on_page)
    inner, outer = _as_array(own), _as_array(on_page)
    if np.allclose(inner, outer, rtol=1e-3, atol=1e-2) or abs(np.linalg.det(outer[:2, :2])) < FLAT:
        return boxes
    corners = boxes.reshape(-1, 2)
    moved = (np.column_stack([corners, np.ones(len(corners))]) @ np.linalg.inv(outer) @ inner)[:, :2]
    moved = moved.reshape(-1, 2, 2)
    return np.concatenate([moved.min(axis=1), moved.max(axis=1)], axis=1)


def _as_array(matrix: Any) -> NDArray[np.float64]:  # noqa: ANN401
    return np.array([[matrix.a, matrix.b, 0], [matrix.c, matrix.d, 0], [matrix.e, matrix.f, 1]])


def _opacity(bitmap: Any) -> Gray:  # noqa: ANN401 - PDFium's
    """Take the ink out of a bitmap, which is destroyed."""
    width, height = raw.FPDFBitmap_GetWidth(bitmap), raw.FPDFBitmap_GetHeight(bitmap)
    stride = raw.FPDFBitmap_GetStride(bitmap)
    buffer = ctypes.cast(raw.FPDFBitmap_GetBuffer(bitmap), ctypes.POINTER(ctypes.c_ubyte))
    pixels = np.ctypeslib.as_array(buffer, (height, stride))[:, : width * 4].reshape(height, width, 4)
    ink = pixels[:, :, 3].copy()
    raw.FPDFBitmap_Destroy(bitmap)
    return ink


def _shape_of(ink: Gray) -> Vectors | None:
    """The shape of a glyph, whatever its size, as a vector of length 1; None where nothing is drawn."""
    dark = ink > INK
    rows, columns = np.flatnonzero(dark.any(axis=1)), np.flatnonzero(dark.any(axis=0))
    if not len(rows):
        return None
    part = np.ascontiguousarray(ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1])
    height, width = part.shape
    scale = SIDE_PX / max(height, width)
    fitted_width, fitted_height = max(2, round(width * scale)), max(2, round(height * scale))
    top, left = (SIDE_PX - fitted_height) // 2, (SIDE_PX - fitted_width) // 2
    square = np.zeros((SIDE_PX, SIDE_PX), np.float32)
    fitted = cv2.resize(part, (fitted_width, fitted_height), interpolation=cv2.INTER_AREA)
    square[top : top + fitted_height, left : left + fitted_width] = fitted
    shape = np.asarray(cv2.GaussianBlur(square, (0, 0), 1.0), np.float32).ravel()
    shape -= shape.mean()
    return shape / max(float(np.linalg.norm(shape)), 1e-6)


def _compare_shapes(shapes: Iterable[tuple[str, Vectors]]) -> dict[str, Claim]:
    """The claims of characters, of each the glyph that bears it out best."""
    claims: dict[str, Claim] = {}
    is_own, is_other = _likeness()
    for letter, shape in shapes:
        row = (_templates() @ shape).max(axis=1)
        number = KNOWN.index(letter)
        claim = Claim(float(row[is_own[number]].max()), float(row[is_other[number]].max()))
        if letter not in claims or claim.excess < claims[letter].excess:
            claims[letter] = claim
    return claims


@cache
def _likeness() -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """For each character a mask of those that its shape may be of, and of the others of its kind."""
    shape = len(KNOWN), len(KNOWN)
    is_own, is_other = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
    for row, first in enumerate(KNOWN):
        for column, second in enumerate(KNOWN):
            if first.isdigit() == second.isdigit():
                alike = first.lower() == second.lower() or any(
                    {first, second} <= set(group) for group in ALIKE
                )
                (is_own if alike else is_other)[row, column] = True
    return is_own, is_other


@cache
def _templates() -> Vectors:
    """The shapes of the known characters in PDFium's fonts; shape (characters, fonts, pixels)."""
    templates = np.zeros((len(KNOWN), 2 * len(STANDARD_FONTS), SIDE_PX**2), np.float32)
    with contextlib.closing(pdfium.PdfDocument.new()) as document:
        page = document.new_page(100, 100)
        for column, name in enumerate(STANDARD_FONTS):
            font = raw.FPDFText_LoadStandardFont(document, name.encode())
            for row, letter in enumerate(KNOWN):
                item = raw.FPDFPageObj_CreateTextObj(document, font, 10.0)
                raw.FPDFText_SetText(item, (ctypes.c_ushort * 2)(ord(letter), 0))
                ink = _opacity(raw.FPDFTextObj_GetRenderedBitmap(document, page, item, HEIGHT_PX / 7))
                raw.FPDFPageObj_Destroy(item)
                narrow = cv2.resize(ink, None, fx=NARROW, fy=1, interpolation=cv2.INTER_AREA)
                for offset, drawn in enumerate((ink, np.asarray(narrow, np.uint8))):
                    shape = _shape_of(drawn)
                    if shape is not None:
                        templates[row, 2 * column + offset] = shape
            raw.FPDFFont_Close(font)
    return templates
