"""RapidOCR: PP-OCR models on the CPU, offline."""

import logging
import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from docmill.reading.ocr import Recognised

PARAMETERS = {
    "Global.log_level": "critical",
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
}
MAX_AREA = 3_300_000
"""Pixels recognised at once: memory grows with them, 1.0 GB at this size."""
MAX_ELONGATION = 8
"""Long over short side: RapidOCR scales the short side up to 736 pixels, whatever becomes of the other."""


class RapidEngine:
    """`Engine` by RapidOCR with the models in its wheel. One thread: processes share out the cores."""

    def __init__(self) -> None:
        # Here, since they take a second and 100 MB, which only children may spend.
        from rapidocr import RapidOCR  # noqa: PLC0415
        from rapidocr.inference_engine.onnxruntime.main import ONNXRuntimeError  # noqa: PLC0415

        self._failure = ONNXRuntimeError
        self._read: Any = RapidOCR(params=PARAMETERS)
        logging.getLogger("RapidOCR").setLevel(logging.CRITICAL)

    def recognise(self, pixels: NDArray[np.uint8]) -> Recognised:
        """See `Engine.recognise`."""
        height, width = pixels.shape[:2]
        scale = min(1.0, math.sqrt(MAX_AREA / (height * width)))
        try:
            found = self._read(_prepared(pixels, scale))
        except self._failure as error:
            # The models are fixed and sound, so that what fails inside them is the allocation of memory.
            raise MemoryError from error
        if found.boxes is None or found.txts is None:
            return Recognised([], np.zeros((0, 4, 2), np.float32), np.zeros(0, np.float32))
        corners = np.asarray(found.boxes, np.float32) / scale
        return Recognised(list(found.txts), corners, np.asarray(found.scores, np.float32))


def _prepared(pixels: NDArray[np.uint8], scale: float) -> NDArray[np.uint8]:
    """The picture as BGR, scaled, and with white added to what is all too narrow or flat."""
    import cv2  # noqa: PLC0415 - see RapidEngine

    bgr = np.ascontiguousarray(pixels[:, :, ::-1])
    if scale < 1:
        bgr = cv2.resize(bgr, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA).astype(np.uint8)
    height, width = bgr.shape[:2]
    below, right = max(0, width // MAX_ELONGATION - height), max(0, height // MAX_ELONGATION - width)
    if not below and not right:
        return bgr
    return np.pad(bgr, ((0, below), (0, right), (0, 0)), constant_values=255)


@cache
def rapid_engine() -> RapidEngine:
    """This process's engine; loading the models takes a second."""
    return RapidEngine()
