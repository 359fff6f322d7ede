"""The networks of PP-OCR, as they come in the wheel of RapidOCR, on one thread of the CPU."""

import os
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from docmill.errors import MisconfiguredError

Task = Literal["detection", "turning", "recognition"]

PACKAGE = "rapidocr"
FILES: dict[Task, str] = {
    "detection": "PP-OCRv6_det_small.onnx",
    "turning": "ch_ppocr_mobile_v2.0_cls_mobile.onnx",
    "recognition": "PP-OCRv6_rec_small.onnx",
}


class Network:
    """One network. It takes pictures as `prepared` makes them."""

    def __init__(self, task: Task) -> None:
        # It tells its makers what it runs, from a thread of its own, unless this is said before it is loaded.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        runtime: Any = import_module("onnxruntime")  # it tells no types
        runtime.disable_telemetry_events()
        options = runtime.SessionOptions()
        options.log_severity_level = 4
        options.enable_cpu_mem_arena = False  # what a large page took would never be given back
        options.intra_op_num_threads = options.inter_op_num_threads = 1  # processes share out the cores
        self._session = runtime.InferenceSession(
            str(model_file(task)), options, providers=["CPUExecutionProvider"]
        )
        self._input: str = self._session.get_inputs()[0].name
        states: Any = import_module("onnxruntime.capi.onnxruntime_pybind11_state")
        self._failures: tuple[type[Exception], ...] = (states.Fail, states.RuntimeException)

    def __call__(self, batch: NDArray[np.float32]) -> NDArray[np.float32]:
        """The network's first answer. Raises MemoryError."""
        try:
            return np.asarray(self._session.run(None, {self._input: batch})[0], np.float32)
        except self._failures as error:
            # The networks are fixed and sound, so that what fails inside them is the allocation of memory.
            raise MemoryError from error

    @property
    def characters(self) -> list[str]:
        """What the classes of a recogniser stand for; the first is none, the last a blank."""
        named: str = self._session.get_modelmeta().custom_metadata_map["character"]
        return ["", *named.splitlines(), " "]


def model_file(task: Task) -> Path:
    """Where the network lies. Raises MisconfiguredError if it does not."""
    # Found and not imported: importing the package takes more than a second, for settings we do not use.
    spec = find_spec(PACKAGE)
    for folder in (spec and spec.submodule_search_locations) or ():
        file = Path(folder, "models", FILES[task])
        if file.is_file():
            return file
    raise MisconfiguredError(
        f"the network {FILES[task]!r} is missing; run: pip install --force-reinstall {PACKAGE}"
    )


def prepared(bgr: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The picture as the networks take it: one of a batch, channels first, from -1 to 1."""
    return np.ascontiguousarray((bgr.astype(np.float32) / 127.5 - 1).transpose(2, 0, 1)[None])
