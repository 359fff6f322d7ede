"""Tesseract: a program of the system, called through its standard input and output."""

import csv
import os
import shutil
import subprocess
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from docmill.errors import BadModelOutputError, CrashedError, MisconfiguredError, TimeLimitError
from docmill.reading.ocr.page import RecognisedLines

PLACES = os.pathsep.join(("/usr/local/bin", "/usr/bin", "/bin", "/opt/homebrew/bin"))
"""Search path for the program; processes that read files inherit none."""
ABSENT = (
    "Tesseract is not installed; run: apt-get install tesseract-ocr tesseract-ocr-deu (or other languages)"
)
CODES = {
    "cs": "ces", "da": "dan", "de": "deu", "el": "ell", "en": "eng", "es": "spa", "fi": "fin", "fr": "fra",
    "hu": "hun", "it": "ita", "nl": "nld", "no": "nor", "pl": "pol", "pt": "por", "ro": "ron", "ru": "rus",
    "sv": "swe", "tr": "tur", "uk": "ukr", "zh": "chi_sim", "ja": "jpn", "ko": "kor",
}  # fmt: skip
"""ISO 639-1 to the names of Tesseract's models; another language goes by that name itself."""
USUAL = ("eng", "deu", "fra", "spa", "ita", "nld", "por", "pol")
"""Models for when no languages are set, as far as installed. Each costs time on every page."""
_WORD_LEVEL = 5
_COLUMNS = 12
_LIMIT_S = 500.0
"""By the clock. The task in which it runs has a limit on processor time, which is what Tesseract uses."""
_LIST_LIMIT_S = 10.0


def program() -> Path:
    """Path of the program. Raises MisconfiguredError if it is not installed."""
    path = shutil.which("tesseract", path=PLACES)
    if path is None:
        raise MisconfiguredError(ABSENT)
    return Path(path)


def installed_models(tesseract: Path) -> list[str]:
    """Tesseract's names of the models that are installed. Raises MisconfiguredError if it does not run."""
    # The same order as --list-langs gives; "osd" tells only which way up a page is.
    lines = _output([tesseract, "--list-langs"], limit_s=_LIST_LIMIT_S).decode(errors="replace").splitlines()
    return [line.strip() for line in lines[1:] if line.strip() and line.strip() != "osd"]


class TesseractEngine:
    """`Engine` by Tesseract. limit_s: for one page."""

    def __init__(
        self, languages: Sequence[str] = (), *, tesseract: Path | None = None, limit_s: float = _LIMIT_S
    ) -> None:
        self._program = tesseract or program()
        self._limit_s = limit_s
        installed = installed_models(self._program)
        if languages:
            self._models = [CODES.get(language, language) for language in languages]
            if missing := [model for model in self._models if model not in installed]:
                packages = " ".join(f"tesseract-ocr-{model.replace('_', '-')}" for model in missing)
                raise MisconfiguredError(f"Tesseract lacks languages; run: apt-get install {packages}")
        else:
            self._models = [model for model in USUAL if model in installed] or installed[:1]
            if not self._models:
                raise MisconfiguredError("Tesseract has no languages; run: apt-get install tesseract-ocr-eng")

    def recognise(self, pixels: NDArray[np.uint8]) -> RecognisedLines:
        """See `Engine.recognise`. Raises TimeLimitError, CrashedError, BadModelOutputError."""
        command = [self._program, "stdin", "stdout", "-l", "+".join(self._models), "tsv"]
        grey = pixels @ np.array([0.299, 0.587, 0.114], np.float32)
        height, width = grey.shape
        # PGM, the one format that takes no time to write or read.
        pgm = b"P5 %d %d 255\n" % (width, height) + grey.astype(np.uint8).tobytes()
        table = _output(command, pgm, limit_s=self._limit_s)
        return parse_table(table.decode(errors="replace"))


def _output(command: Sequence[Path | str], given: bytes = b"", *, limit_s: float) -> bytes:
    try:
        done = subprocess.run(  # noqa: S603 - a program of the system's, no shell, nothing of the file
            command,
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=limit_s,
            check=False,
            env={"PATH": PLACES, "LANG": "C.UTF-8", "OMP_THREAD_LIMIT": "1"},
        )
    except subprocess.TimeoutExpired as error:
        raise TimeLimitError(f"Tesseract took longer than {limit_s:g} s and was stopped") from error
    except OSError as error:
        raise MisconfiguredError(f"Tesseract does not run: {type(error).__name__}") from error
    if done.returncode:
        raise CrashedError(f"Tesseract failed with status {done.returncode}; the page will be tried again")
    return done.stdout


def parse_table(table: str) -> RecognisedLines:
    """Parse a table in Tesseract's TSV format, a word an entry. Raises BadModelOutputError.

    Corners are the words' upright boxes, with the slant of their lines in the upper and lower edges.
    """
    lines: list[tuple[str, ...]] = []  # block, paragraph and line of each word
    numbers: list[list[float]] = []  # left, top, width, height, confidence
    texts: list[str] = []
    try:
        rows = [row for row in csv.reader(table.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE) if row]
        for row in rows[1:]:
            if len(row) == _COLUMNS and int(row[0]) == _WORD_LEVEL:
                values = list(map(float, row[6:11]))
                text = row[11].strip()
                if text and values[-1] >= 0:
                    lines.append(tuple(row[2:5]))
                    numbers.append(values)
                    texts.append(text)
    except ValueError as error:
        raise BadModelOutputError("Tesseract answered with something that is no table of words") from error
    columns = np.array(numbers, np.float32).reshape(-1, 5)
    left, top, width, height, _ = columns.T
    x0, y0, x1, y1 = left, top, left + width, top + height
    centres_x, centres_y = (x0 + x1) / 2, (y0 + y1) / 2
    rise = np.zeros(len(texts), np.float32)
    for _, group in groupby(range(len(texts)), key=lines.__getitem__):
        members = list(group)
        first, last = members[0], members[-1]
        if (across := float(centres_x[last] - centres_x[first])) > 0:
            slant = float(centres_y[last] - centres_y[first]) / across
            rise[members] = slant * (x1 - x0)[members]
    # The box around the four corners stays Tesseract's.
    top_left, top_right = y0 - np.minimum(rise, 0), y0 + np.maximum(rise, 0)
    bottom_right, bottom_left = y1 + np.minimum(rise, 0), y1 - np.maximum(rise, 0)
    edges = [(x0, top_left), (x1, top_right), (x1, bottom_right), (x0, bottom_left)]
    corners = np.stack([np.stack(corner, axis=1) for corner in edges], axis=1).astype(np.float32)
    scores = np.array([values[-1] / 100 for values in numbers], np.float32)
    return RecognisedLines(texts, corners, np.clip(scores, 0, 1, dtype=np.float32))
