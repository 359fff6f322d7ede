"""RapidOCR: PP-OCR models on the CPU, offline."""

import logging
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


class RapidEngine:
    """`Engine` by RapidOCR with the models in its wheel. One thread: processes share out the cores."""

    def __init__(self) -> None:
        from rapidocr import RapidOCR  # noqa: PLC0415 - takes a second and 100 MB, which only children may spend

        self._read: Any = RapidOCR(params=PARAMETERS)
        logging.getLogger("RapidOCR").setLevel(logging.CRITICAL)

    def recognise(self, pixels: NDArray[np.uint8]) -> Recognised:
        """See `Engine.recognise`."""
        found = self._read(np.ascontiguousarray(pixels[:, :, ::-1]))  # it wants BGR
        if found.boxes is None or found.txts is None:
            return Recognised([], np.zeros((0, 4, 2), np.float32), np.zeros(0, np.float32))
        return Recognised(
            list(found.txts), np.asarray(found.boxes, np.float32), np.asarray(found.scores, np.float32)
        )


@cache
def rapid_engine() -> RapidEngine:
    """This process's engine; loading the models takes a second."""
    return RapidEngine()
