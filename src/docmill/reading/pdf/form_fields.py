"""Text that people typed into a PDF: values of form fields, and notes written on the page.

Values come from the fields themselves and not from their appearance, which may be missing or out of date.
"""

import ctypes
import textwrap
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from docmill.reading.pdf.pdf_file import PdfDocument, PdfPage, raw
from docmill.reading.pdf.text_runs import NO_RUNS, TextRuns, certain_runs

CHECKED, UNCHECKED = "☒", "☐"
"""Marks of check boxes and radio buttons."""
MAX_ANNOTATIONS = 5000
MAX_VALUE_BYTES = 200_000
SHOWN_NOWHERE = 2 | 32
"""Annotation flags Hidden and NoView, ISO 32000-1, 12.5.3."""
MULTILINE, PASSWORD, COMB = 1 << 12, 1 << 13, 1 << 24
"""Flags of text fields, ISO 32000-1, 12.7.4.3."""
LETTER_WIDTH = 0.5
"""Average width of a letter, in font sizes."""
LEADING = 1.15
SMALLEST_PT, USUAL_PT = 4.0, 12.0
CENTRED, RIGHT = 1, 2
"""Values of a field's Q."""

Annotation: TypeAlias = Any
Rectangle: TypeAlias = tuple[float, float, float, float]
PlacedWord: TypeAlias = tuple[str, Rectangle]


class FormField(NamedTuple):
    """One value and where it belongs: points, unrotated page, origin top left.

    font_size: 0 if the field leaves it open. cells: of a comb, 0 of any other.
    """

    value: str
    box: Rectangle
    font_size: float = 0.0
    alignment: int = 0
    cells: int = 0
    multiline: bool = False


DYNAMIC = "the form keeps its content as XFA, which is not read; print it as a PDF from its own program"


def is_dynamic(document: PdfDocument, page: PdfPage) -> bool:
    """True if the page is only a placeholder for a form that is kept as XFA.

    Some programs do not say that it is one: a form of a single page that has no field on it.
    """
    kind = document.get_formtype()
    is_told = kind == raw.FORMTYPE_XFA_FULL or (kind == raw.FORMTYPE_XFA_FOREGROUND and len(document) == 1)
    return bool(is_told and not raw.FPDFPage_GetAnnotCount(page))


def value_runs(fields: Sequence[FormField]) -> TextRuns:
    """The values as words in their boxes, each line of a value a run."""
    lines = [line for field in fields for line in lines_of(field)]
    if not lines:
        return NO_RUNS
    boxes = np.array([box for line in lines for _, box in line], np.float32)
    owners = np.repeat(np.arange(len(lines), dtype=np.int32), [len(line) for line in lines])
    return certain_runs([text for line in lines for text, _ in line], boxes, owners)


def read_fields(page: PdfPage) -> list[FormField]:
    """Every value that the page shows: fields that are filled, boxes ticked or not, free text."""
    fields: list[FormField] = []
    for index in range(min(raw.FPDFPage_GetAnnotCount(page), MAX_ANNOTATIONS)):
        annotation = raw.FPDFPage_GetAnnot(page, index)
        if not annotation:
            continue
        try:
            if not raw.FPDFAnnot_GetFlags(annotation) & SHOWN_NOWHERE:
                fields += _annotation_fields(page, annotation)
        finally:
            raw.FPDFPage_CloseAnnot(annotation)
    return fields


def _annotation_fields(page: PdfPage, annotation: Annotation) -> list[FormField]:
    rectangle = raw.FS_RECTF()
    if not raw.FPDFAnnot_GetRect(annotation, rectangle):
        return []
    left, bottom, right, top = page.get_bbox()
    x0, x1 = sorted((rectangle.left - left, rectangle.right - left))
    y0, y1 = sorted((top - rectangle.top, top - rectangle.bottom))
    box = max(x0, 0), max(y0, 0), min(x1, right - left), min(y1, top - bottom)
    if not (box[2] - box[0] > 1 and box[3] - box[1] > 1):
        return []
    subtype = raw.FPDFAnnot_GetSubtype(annotation)
    if subtype == raw.FPDF_ANNOT_FREETEXT:
        note = _string(
            lambda buffer, size: raw.FPDFAnnot_GetStringValue(annotation, b"Contents", buffer, size)
        )
        return [FormField(note, box, multiline=True)] if note.strip() else []
    if subtype == raw.FPDF_ANNOT_WIDGET and page.formenv:
        return _widget_fields(page.formenv, annotation, box)
    return []


def _widget_fields(form: Any, annotation: Annotation, box: Rectangle) -> list[FormField]:  # noqa: ANN401 - PDFium's
    kind = raw.FPDFAnnot_GetFormFieldType(form, annotation)
    if kind in (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON):
        return [FormField(CHECKED if raw.FPDFAnnot_IsChecked(form, annotation) else UNCHECKED, box)]
    if kind in (raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX):
        count = min(raw.FPDFAnnot_GetOptionCount(form, annotation), MAX_ANNOTATIONS)
        chosen = [
            _string(
                lambda buffer, size, index=index: raw.FPDFAnnot_GetOptionLabel(
                    form, annotation, index, buffer, size
                )
            )
            for index in range(count)
            if raw.FPDFAnnot_IsOptionSelected(form, annotation, index)
        ]
        value, flags = "\n".join(chosen), MULTILINE if len(chosen) > 1 else 0
    elif kind == raw.FPDF_FORMFIELD_TEXTFIELD:
        value, flags = "", raw.FPDFAnnot_GetFormFieldFlags(form, annotation)
    else:
        return []
    if flags & PASSWORD:
        return []
    value = value or _string(
        lambda buffer, size: raw.FPDFAnnot_GetFormFieldValue(form, annotation, buffer, size)
    )
    if not value.strip():
        return []
    size = ctypes.c_float()
    raw.FPDFAnnot_GetFontSize(form, annotation, size)
    cells = int(_number(annotation, b"MaxLen")) if flags & COMB else 0
    return [
        FormField(
            value, box, size.value, int(_number(annotation, b"Q")), cells, multiline=bool(flags & MULTILINE)
        )
    ]


def _string(call: Callable[[Any, int], int]) -> str:
    """Read a string of PDFium, which first returns how many bytes it needs."""
    size = min(call(None, 0), MAX_VALUE_BYTES)
    if size <= 2:  # noqa: PLR2004 - the two bytes at its end
        return ""
    buffer = (ctypes.c_ushort * (size // 2))()
    call(buffer, size)
    return bytes(buffer).decode("utf-16-le", "replace").split("\0")[0]


def _number(annotation: Annotation, key: bytes) -> float:
    value = ctypes.c_float()
    return value.value if raw.FPDFAnnot_GetNumberValue(annotation, key, value) else 0.0


def lines_of(field: FormField) -> list[list[PlacedWord]]:
    """The words of a field line by line, near the places where a viewer shows them."""
    x0, y0, x1, y1 = field.box
    if field.cells > 0:  # each letter in its cell; empty cells part words
        cell = (x1 - x0) / max(field.cells, len(field.value))
        edges = [x0 + cell * number for number in range(len(field.value) + 1)]
        spaces = [index for index, letter in enumerate(field.value) if letter.isspace()]
        words = [
            (field.value[before + 1 : blank], (edges[before + 1], y0, edges[blank], y1))
            for before, blank in pairwise([-1, *spaces, len(field.value)])
            if blank - before > 1
        ]
        return [words] if words else []
    size = field.font_size or min(USUAL_PT, max(SMALLEST_PT, (y1 - y0) / LEADING))
    texts = field.value.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if field.multiline and len(texts) * size * LEADING < y1 - y0:
        width = max(1, int((x1 - x0) / (LETTER_WIDTH * size)))
        wrapper = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
        texts = [line for text in texts for line in wrapper.wrap(" ".join(text.split()))]
    texts = [text for text in texts if text.strip()]
    pitch = min(size * LEADING, (y1 - y0) / len(texts))
    top = y0 if len(texts) > 1 or field.multiline else (y0 + y1 - pitch) / 2
    return [
        _place_words(text, (x0, top + row * pitch, x1, top + (row + 1) * pitch), size, field.alignment)
        for row, text in enumerate(texts)
    ]


def _place_words(text: str, box: Rectangle, size: float, alignment: int) -> list[PlacedWord]:
    x0, y0, x1, y1 = box
    text = text.strip()
    letter = min(LETTER_WIDTH * size, (x1 - x0) / len(text))
    slack = x1 - x0 - letter * len(text)
    x0 += {CENTRED: slack / 2, RIGHT: slack}.get(alignment, 0)
    words: list[PlacedWord] = []
    at = 0
    for word in text.split():
        at = text.index(word, at)
        words.append((word, (x0 + letter * at, y0, x0 + letter * (at + len(word)), y1)))
        at += len(word)
    return words
