"""RapidOCR: the networks of PP-OCR, as they come in its wheel, on one thread of the CPU, offline."""

import os
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from docmill.errors import MisconfiguredError
from docmill.reading.ocr import ctc, text_lines
from docmill.reading.ocr.ctc import LineReading, LineText
from docmill.reading.ocr.page import RecognisedLines
from docmill.reading.ocr.spelling import correct_spelling

Task = Literal["detection", "turning", "recognition"]

PACKAGE = "rapidocr"
FILES: dict[Task, str] = {
    "detection": "PP-OCRv6_det_small.onnx",
    "turning": "ch_ppocr_mobile_v2.0_cls_mobile.onnx",
    "recognition": "PP-OCRv6_rec_small.onnx",
}


class Network:
    """One network. It takes pictures as `network_input` makes them."""

    def __init__(self, task: Task) -> None:
        # Set before loading: otherwise a thread of the library reports usage to its makers.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        runtime: Any = import_module("onnxruntime")  # it has no types
        runtime.disable_telemetry_events()
        options = runtime.SessionOptions()
        options.log_severity_level = 4
        options.enable_cpu_mem_arena = False  # the memory of a large page would never be released
        options.intra_op_num_threads = options.inter_op_num_threads = 1  # processes share out the cores
        self._session = runtime.InferenceSession(
            str(model_file(task)), options, providers=["CPUExecutionProvider"]
        )
        self._input: str = self._session.get_inputs()[0].name
        states: Any = import_module("onnxruntime.capi.onnxruntime_pybind11_state")
        self._failures: tuple[type[Exception], ...] = (states.Fail, states.RuntimeException)

    def __call__(self, batch: NDArray[np.float32]) -> NDArray[np.float32]:
        """The network's first output. Raises MemoryError."""
        try:
            return np.asarray(self._session.run(None, {self._input: batch})[0], np.float32)
        except self._failures as error:
            # The networks are fixed and sound, so that what fails inside them is the allocation of memory.
            raise MemoryError from error

    @property
    def characters(self) -> list[str]:
        """Characters of a recogniser's classes; the first is none, the last a blank."""
        named: str = self._session.get_modelmeta().custom_metadata_map["character"]
        return ["", *named.splitlines(), " "]


def model_file(task: Task) -> Path:
    """Path of the network's file. Raises MisconfiguredError if there is none."""
    # Found and not imported: importing the package takes more than a second, for settings we do not use.
    spec = find_spec(PACKAGE)
    for folder in (spec and spec.submodule_search_locations) or ():
        file = Path(folder, "models", FILES[task])
        if file.is_file():
            return file
    raise MisconfiguredError(
        f"the network {FILES[task]!r} is missing; run: pip install --force-reinstall {PACKAGE}"
    )


def network_input(bgr: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The picture as the networks take it: one of a batch, channels first, from -1 to 1."""
    return np.ascontiguousarray((bgr.astype(np.float32) / 127.5 - 1).transpose(2, 0, 1)[None])


MAX_ELONGATION = 5
"""Largest ratio of long to short side: beyond, enlarging the short side takes too much memory."""
NARROWEST = 48
"""Pixels that a line's picture must be wide to be recognised."""
BELIEVED = 0.5
"""RapidOCR's own: a line with a lower score is no text."""
SURE = 0.7
"""A line with a character less probable is looked at again."""
TALLER = 0.08
"""Margin above and below a line in its third reading, in line heights."""
TURNER_SIZE = (48, 192)
"""Height and width in which the classifier takes a line."""
ASKED = 3
"""Lines that are read both ways up where the classifier holds a page to be upside down."""


class RapidEngine:
    """`Engine` by the networks in RapidOCR's wheel. One thread: processes share out the cores.

    All but the networks is ours (docs/decisions/016).
    """

    def __init__(self) -> None:
        self._detector, self._turner, self._recogniser = map(Network, ("detection", "turning", "recognition"))
        self._characters = self._recogniser.characters
        self._indices = {character: index for index, character in enumerate(self._characters)}
        self._space = len(self._characters) - 1
        self._marks = [self._characters.index(mark) for mark in ctc.MARKS]

    def recognise(self, pixels: NDArray[np.uint8], *, letter_px: float | None = None) -> RecognisedLines:
        """See `Engine.recognise`. Raises MemoryError.

        letter_px: the usual height of letters, for a picture that shows too few of them to tell.
        """
        bgr = np.ascontiguousarray(pixels[:, :, ::-1])
        height, width = bgr.shape[:2]
        below, right = max(0, width // MAX_ELONGATION - height), max(0, height // MAX_ELONGATION - width)
        if below or right:  # white beside a side that is too short
            bgr = np.pad(bgr, ((0, below), (0, right), (0, 0)), constant_values=255)
        corners = self._find_lines(bgr, letter_px)
        turn = self._turn(bgr, corners)
        upright = text_lines.turn_picture(bgr, turn)
        if turn:  # searched anew, for lines that stand are found less well
            corners = self._find_lines(upright, letter_px)
        read = [self._read_line(upright, line) for line in corners]
        # From the turned padded picture to the turned picture as it was given.
        height, width = upright.shape[:2]
        lying = text_lines.turn_corners(corners, -turn % 360, width_px=width, height_px=height)
        height, width = pixels.shape[:2]
        corners = text_lines.turn_corners(lying, turn, width_px=width, height_px=height)
        kept = [index for index, line in enumerate(read) if line.text and line.score >= BELIEVED]
        return RecognisedLines(
            correct_spelling([read[index] for index in kept]),
            text_lines.start_at_text(corners[kept]),
            np.array([read[index].score for index in kept], np.float32),
            places=[read[index].places for index in kept],
            turn=turn,
        )

    def read_line_at(self, pixels: NDArray[np.uint8], corners: NDArray[np.float32]) -> str:
        """The text of one line of a picture, as `recognise` reads it. Raises MemoryError."""
        return self._read_line(np.ascontiguousarray(pixels[:, :, ::-1]), corners).text

    def read_line_picture(self, line: NDArray[np.uint8]) -> str:
        """The text in the BGR picture of one line, read once. Raises MemoryError."""
        return self._look(text_lines.scale_line(line, height=ctc.HEIGHT)).line.text

    def _find_lines(self, bgr: NDArray[np.uint8], letter_px: float | None) -> NDArray[np.float32]:
        """Find the corners of all lines."""
        height, width = bgr.shape[:2]
        spots = text_lines.find_spots(bgr)
        small = text_lines.detection_size(height, width, letter_px or text_lines.letter_height(spots))
        large = text_lines.detection_size(height, width)
        corners = self._search_lines(bgr, small)
        if small[0] < large[0] and text_lines.has_small_print(
            spots, corners, (height, width), small[0] / height
        ):
            again = large
        else:
            again = text_lines.enlarged_size(height, width, corners, small[0])
            if again[0] <= small[0]:
                return corners
        more = self._search_lines(bgr, again)
        return np.concatenate([more, text_lines.lines_outside(corners, more, (height, width))])

    def _search_lines(self, bgr: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.float32]:
        """Find the corners of lines in the picture reduced to that size."""
        seen = np.asarray(cv2.resize(bgr, size[::-1]), np.uint8)
        height, width = bgr.shape[:2]
        return text_lines.line_corners(self._detector(network_input(seen))[0, 0], height=height, width=width)

    def _turn(self, bgr: NDArray[np.uint8], corners: NDArray[np.float32]) -> int:
        """Degrees clockwise by which the picture must be turned for its text to stand upright."""
        if not len(corners):
            return 0
        turn = 90 if text_lines.is_sideways(corners) else 0
        height, width = bgr.shape[:2]
        longest = corners[text_lines.longest_lines(corners)]
        longest = text_lines.turn_corners(longest, turn, width_px=width, height_px=height)
        upright = text_lines.turn_picture(bgr, turn)
        sample = [text_lines.crop_line(upright, line) for line in longest]
        if sum(map(self._looks_turned, sample)) * 2 <= len(sample):
            return turn
        # The classifier errs on some typefaces: the recogniser must read some lines better turned.
        sample = sample[:ASKED]
        upright_score, turned_score = (
            sum(self._look(text_lines.scale_line(line, height=ctc.HEIGHT)).line.score for line in lines)
            for lines in (sample, [text_lines.turn_picture(line, 180) for line in sample])
        )
        return turn + 180 if turned_score > upright_score else turn

    def _looks_turned(self, line: NDArray[np.uint8]) -> bool:
        """True if the classifier takes the line to be upside down."""
        height, width = TURNER_SIZE
        seen = np.zeros((1, 3, height, width), np.float32)
        fitted = text_lines.scale_line(line, height=height)
        if fitted.shape[1] > width:
            fitted = np.asarray(cv2.resize(fitted, (width, height)), np.uint8)
        seen[..., : fitted.shape[1]] = network_input(fitted)
        upright, turned = self._turner(seen)[0]
        return bool(turned > upright)

    def _read_line(self, upright: NDArray[np.uint8], corners: NDArray[np.float32]) -> LineText:
        """Read a line of a picture.

        A doubtful line is read again with bolder print, and a third time with more around it where the two
        readings differ.
        """
        plain = text_lines.scale_line(text_lines.crop_line(upright, corners), height=ctc.HEIGHT)
        first = self._look(plain)
        if first.line.certainties.min(initial=1) >= SURE:
            return first.line
        second = self._look(ctc.embolden(plain))
        if ctc.without_spaces(first.line) == ctc.without_spaces(second.line):
            return first.line
        wider = text_lines.crop_line(upright, text_lines.with_margin(corners, TALLER))
        third = self._look(text_lines.scale_line(wider, height=ctc.HEIGHT, width=plain.shape[1]))
        return ctc.most_likely_reading([first, second, third], self._indices, space=self._space)

    def _look(self, line: NDArray[np.uint8]) -> LineReading:
        """Recognise the picture of one line.

        One by one: in a batch the shorter would be filled up to the longest, which costs time, memory and
        words.
        """
        width = line.shape[1]
        if width < NARROWEST:
            seen = np.zeros((1, 3, ctc.HEIGHT, NARROWEST), np.float32)
            seen[..., :width] = network_input(line)
        else:
            seen = network_input(line)
        answer: NDArray[np.float32] = self._recogniser(seen)[0]
        steps = ctc.summarise_steps(
            answer, space=self._space, marks=self._marks, step_px=seen.shape[3] / len(answer)
        )
        grey = np.asarray(cv2.cvtColor(line, cv2.COLOR_BGR2GRAY), np.uint8)
        return LineReading(answer, ctc.decode(steps, self._characters, grey))


@cache
def rapid_engine() -> RapidEngine:
    """This process's engine; loading the models takes a second."""
    return RapidEngine()
