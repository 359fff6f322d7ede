"""Reading of barcodes and matrix codes in pictures, by zxing-cpp."""

import cv2
import numpy as np
import zxingcpp
from numpy.typing import NDArray

from docmill.model.document import Box, Code

FORMATS = zxingcpp.BarcodeFormats(
    [
        zxingcpp.BarcodeFormat.QRCode,
        zxingcpp.BarcodeFormat.DataMatrix,
        zxingcpp.BarcodeFormat.PDF417,
        zxingcpp.BarcodeFormat.Code128,
        zxingcpp.BarcodeFormat.Code39,
    ]
)
"""Symbologies of papers. EAN and ITF are left out: they number goods, and print is mistaken for them."""
MOST = 40
"""Codes of one page; the others are left out."""
LONGEST = 7089
"""Characters of the largest QR code (ISO/IEC 18004, table 7)."""
SHORTEST_LINEAR = 4
"""Characters of a linear code; shorter ones are mostly print or ruling lines."""
_LINEAR = ("]C", "]A")


def read_codes(pixels: NDArray[np.uint8]) -> tuple[Code, ...]:
    """The codes on a picture, from top to bottom.

    pixels: RGB, of the page as displayed. Codes with a wrong checksum are left out, and so are those of bytes
    that are no text.
    """
    gray = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
    found = zxingcpp.read_barcodes(gray, formats=FORMATS, try_invert=False, text_mode=zxingcpp.TextMode.Plain)
    height, width = gray.shape
    codes = [
        Code(barcode.symbology_identifier, barcode.text, _box(barcode.position, width, height))
        for barcode in found
        if barcode.valid and barcode.content_type != zxingcpp.ContentType.Binary
    ]
    kept = [code for code in codes if _is_plausible(code)]
    return tuple(sorted(kept, key=lambda code: (code.box.y0, code.box.x0))[:MOST])


def _is_plausible(code: Code) -> bool:
    is_linear = code.symbology.startswith(_LINEAR)
    return (SHORTEST_LINEAR if is_linear else 1) <= len(code.text) <= LONGEST


def _box(position: zxingcpp.Position, width: int, height: int) -> Box:
    corners = (position.top_left, position.top_right, position.bottom_right, position.bottom_left)
    x = [min(max(corner.x / width, 0.0), 1.0) for corner in corners]
    y = [min(max(corner.y / height, 0.0), 1.0) for corner in corners]
    return Box(min(x), min(y), max(x), max(y))
