"""RapidOCR: PP-OCR models on the CPU, offline."""

import logging
import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from docmill.reading.ocr import Recognised

ONE_THREAD = {
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
}
PARAMETERS = {
    **ONE_THREAD,
    "Global.log_level": "critical",
    # In a batch the shorter lines are filled up to the longest, which costs time, memory and words.
    "Rec.rec_batch_num": 1,
}
DETECTION_AREA = 1_800_000
"""Pixels among which lines are searched, to be recognised from all. More words are found than among all, in
less time and memory (docs/decisions/013)."""
DETECTION_SIDE = 736
"""RapidOCR's own: pictures whose short side is shorter are enlarged before lines are searched."""
LONGEST = 2000
"""RapidOCR's own: longer pictures are reduced first."""
MAX_ELONGATION = 5
"""Long over short side that is read as it is: beyond, enlarging the short side takes too much memory."""


class RapidEngine:
    """`Engine` by RapidOCR with the models in its wheel. One thread: processes share out the cores."""

    def __init__(self) -> None:
        # Here, since they take a second and 100 MB, which only children may spend.
        from rapidocr import RapidOCR  # noqa: PLC0415
        from rapidocr.inference_engine.onnxruntime.main import ONNXRuntimeError  # noqa: PLC0415

        self._failure = ONNXRuntimeError
        self._read: Any = RapidOCR(params=PARAMETERS)
        logging.getLogger("RapidOCR").setLevel(logging.CRITICAL)
        self._read(np.full((DETECTION_SIDE, DETECTION_SIDE, 3), 255, np.uint8))  # loads the detector

    def recognise(self, pixels: NDArray[np.uint8]) -> Recognised:
        """See `Engine.recognise`. Raises MemoryError."""
        bgr = _not_too_long(np.ascontiguousarray(pixels[:, :, ::-1]))
        detector = self._read.text_det
        detector.limit_type, detector.limit_side_len = detection_limit(*bgr.shape[:2])
        try:
            found = self._read(bgr)
        except self._failure as error:
            # The models are fixed and sound, so that what fails inside them is the allocation of memory.
            raise MemoryError from error
        if found.boxes is None or found.txts is None:
            return Recognised([], np.zeros((0, 4, 2), np.float32), np.zeros(0, np.float32))
        return Recognised(
            list(found.txts), np.asarray(found.boxes, np.float32), np.asarray(found.scores, np.float32)
        )


def detection_limit(height: int, width: int) -> tuple[str, int]:
    """RapidOCR's `limit_type` and `limit_side_len` for the search of lines."""
    reduced = min(1.0, LONGEST / max(height, width))
    height, width = round(height * reduced), round(width * reduced)
    scale = max(math.sqrt(DETECTION_AREA / (height * width)), DETECTION_SIDE / min(height, width))
    if scale < 1:
        return "max", round(max(height, width) * scale)
    return "min", DETECTION_SIDE


def _not_too_long(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The picture, with white added to a side that is all too short."""
    height, width = pixels.shape[:2]
    below, right = max(0, width // MAX_ELONGATION - height), max(0, height // MAX_ELONGATION - width)
    if not below and not right:
        return pixels
    return np.pad(pixels, ((0, below), (0, right), (0, 0)), constant_values=255)


@cache
def rapid_engine() -> RapidEngine:
    """This process's engine; loading the models takes a second."""
    return RapidEngine()
