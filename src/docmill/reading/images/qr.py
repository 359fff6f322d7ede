"""QR codes on the picture of a page."""

import cv2
import numpy as np
from numpy.typing import NDArray

SCALES = (1.0, 0.7)
"""Of the picture, one after the other until a code is read: some are read only when a little smaller."""


def codes(pixels: NDArray[np.uint8]) -> tuple[str, ...]:
    """What the QR codes on a picture say, in no order that means anything."""
    for scale in SCALES:
        smaller = cv2.resize(pixels, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        try:
            # Of OpenCV's two detectors the one that reads more codes that are slanted or not quite sharp.
            _, texts, _, _ = cv2.QRCodeDetectorAruco().detectAndDecodeMulti(smaller)
        except cv2.error:  # it stumbles over what only looks like a code
            continue
        if any(texts):
            return tuple(text for text in texts if text)
    return ()
