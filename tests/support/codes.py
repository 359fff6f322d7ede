"""Codes drawn for tests, and pages that hold them."""

from typing import Any

import numpy as np
import zxingcpp
from numpy.typing import NDArray

from docmill.model.document import Box, Code

_ZXING: Any = zxingcpp  # it leaves options untyped
QR = zxingcpp.BarcodeFormat.QRCode


def draw_code(
    content: str | bytes,
    symbology: zxingcpp.BarcodeFormat = QR,
    *,
    scale: int = 4,
    turn: int = 0,
    **options: Any,  # noqa: ANN401 - options of zxing-cpp are of any kind
) -> NDArray[np.uint8]:
    """The picture of a code, gray, with its quiet zone."""
    code = _ZXING.create_barcode(content, symbology, **options)
    image = np.array(zxingcpp.write_barcode_to_image(code, scale=scale), np.uint8)
    return np.rot90(image, turn)


def put_codes(*codes: NDArray[np.uint8], size: tuple[int, int] = (2339, 1654)) -> NDArray[np.uint8]:
    """A white page of A4 at 200 dots per inch, RGB, with codes below each other."""
    page = np.full((*size, 3), 255, np.uint8)
    top = 150
    for code in codes:
        height, width = code.shape
        page[top : top + height, 200 : 200 + width] = code[:, :, None]
        top += height + 60
    return page


def read_code(text: str, symbology: str = "]Q1") -> Code:
    """A code as it is read from the lower right of a page."""
    return Code(symbology, text, Box(0.7, 0.7, 0.9, 0.85))
