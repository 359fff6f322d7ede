"""Measure the recognition of receipts: word F1, labels contained in the text, and losses on degraded copies.

python -m bench receipt_ocr                       # every receipt as it is
python -m bench receipt_ocr --every 7 --degraded  # a subset, and copies of it that were made worse
python -m bench receipt_ocr --cache FOLDER        # goes on from what an earlier run has read into there

Words are split on spaces and compared without regard to case and order; labels by their letters and digits,
within those of the text line by line. What RapidOCR reads by itself with its defaults is scored beside it.
"""

import io
import json
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypedDict

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from bench.arguments import argument_parser
from bench.data.receipts import SROIE
from docmill.reading.files.options import ReadingOptions
from docmill.reading.images.image_file import Picture
from docmill.reading.ocr.page import recognise_page
from docmill.reading.ocr.rapid import rapid_engine

LABELS = ("company", "date", "address", "total")
RECEIPT_INCHES = 3.15
"""The width of most receipts."""
Pixels = NDArray[np.uint8]


class Read(TypedDict):
    """The words read on one picture."""

    words: list[str]
    confidences: list[float]
    text: str
    rotation: int
    seconds: float


def skewed(pixels: Pixels) -> Pixels:
    height, width = pixels.shape[:2]
    turn = cv2.getRotationMatrix2D((width / 2, height / 2), 5, 1)
    cos, sin = abs(turn[0, 0]), abs(turn[0, 1])
    wide, high = int(height * sin + width * cos), int(height * cos + width * sin)
    turn[:, 2] += [(wide - width) / 2, (high - height) / 2]
    return np.asarray(cv2.warpAffine(pixels, turn, (wide, high), borderValue=(255, 255, 255)), np.uint8)


def compressed(quality: int) -> Callable[[Pixels], Pixels]:
    def compress(pixels: Pixels) -> Pixels:
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, "JPEG", quality=quality)
        return np.asarray(Image.open(file).convert("RGB"))

    return compress


def blurred(sigma: float) -> Callable[[Pixels], Pixels]:
    return lambda pixels: np.asarray(cv2.GaussianBlur(pixels, (0, 0), sigma), np.uint8)


def faded(contrast: float) -> Callable[[Pixels], Pixels]:
    return lambda pixels: np.clip(128 + (pixels.astype(np.float32) - 128) * contrast, 0, 255).astype(np.uint8)


def turned(quarters: int) -> Callable[[Pixels], Pixels]:
    return lambda pixels: np.ascontiguousarray(np.rot90(pixels, -quarters))


def noisy(sigma: float) -> Callable[[Pixels], Pixels]:
    def add(pixels: Pixels) -> Pixels:
        noise = np.random.default_rng(7).normal(0, sigma, pixels.shape)
        return np.clip(pixels + noise, 0, 255).astype(np.uint8)

    return add


def reduced(pixels: Pixels) -> Pixels:
    return np.asarray(cv2.resize(pixels, None, fx=0.45, fy=0.45, interpolation=cv2.INTER_AREA), np.uint8)


def scanned(dpi: int) -> Callable[[Pixels], Pixels]:
    def scan(pixels: Pixels) -> Pixels:
        scale = min(1.0, dpi * RECEIPT_INCHES / pixels.shape[1])
        return np.asarray(
            cv2.resize(pixels, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA), np.uint8
        )

    return scan


def shaded(pixels: Pixels) -> Pixels:
    """Return a bad photograph: darker towards the right and the bottom, blurred and noisy."""
    height, width = pixels.shape[:2]
    light = np.linspace(1, 0.2, width)[None, :] * np.linspace(1, 0.6, height)[:, None]
    return noisy(15)(blurred(1.5)((pixels * light[..., None]).astype(np.uint8)))


GOALS: dict[str, tuple[Callable[[Pixels], Pixels], float]] = {
    "rot90": (turned(1), 3),
    "rot180": (turned(2), 3),
    "rot270": (turned(3), 3),
    "skew5": (skewed, 2),
    "blur1": (blurred(1), 5),
    "jpeg20": (compressed(20), 5),
    "contrast.35": (faded(0.35), 5),
}
"""Degradations, and how many points of word F1 each may cost."""
HARD: dict[str, Callable[[Pixels], Pixels]] = {
    "blur2.5": blurred(2.5),
    "noise30": noisy(30),
    "noise70": noisy(70),
    "contrast.1": faded(0.1),
    "half": reduced,
    "dpi45": scanned(45),
    "dpi60": scanned(60),
    "blur3": blurred(3),
    "blur4": blurred(4),
    "jpeg5": compressed(5),
    "noise90": noisy(90),
    "faintnoise": lambda pixels: noisy(25)(faded(0.25)(pixels)),
    "shaded": shaded,
}
"""Worse, so that the low range of quality means something."""


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--every", type=int, default=1, help="read only each n-th receipt")
    parser.add_argument("--degraded", action="store_true", help="copies of them too, made worse")
    parser.add_argument("--hard", action="store_true", help="and copies made much worse")
    parser.add_argument("--cache", type=Path, help="where readings are kept")
    arguments = parser.parse_args()
    names = sorted(path.stem for path in (SROIE / "img").iterdir())[:: arguments.every]
    with tempfile.TemporaryDirectory() as scratch:
        cache: Path = arguments.cache or Path(scratch)
        cache.mkdir(exist_ok=True)
        show("RapidOCR", [bare(name) for name in names], names)
        plain = [read(name, "none", lambda pixels: pixels, cache) for name in names]
        base = show("docmill", plain, names)
        print(f"{sum(found['seconds'] for found in plain) / len(plain):.2f} s of CPU per receipt")
        for variant, (degrade, goal) in GOALS.items() if arguments.degraded else ():
            lost = base - show(variant, [read(name, variant, degrade, cache) for name in names], names)
            print(f"{'':12} loses {lost:.2f}, may lose {goal}")
        for variant, degrade in HARD.items() if arguments.hard else ():
            show(variant, [read(name, variant, degrade, cache) for name in names], names)


def read(name: str, variant: str, degrade: Callable[[Pixels], Pixels], cache: Path) -> Read:
    kept = cache / f"{variant}-{name}.json"
    if not kept.exists():
        with Image.open(SROIE / "img" / f"{name}.jpg") as image:
            pixels = degrade(np.asarray(image.convert("RGB")))
        engine = rapid_engine()
        started = time.process_time()
        picture = Picture(pixels, float(pixels.shape[1]), float(pixels.shape[0]), 0)
        page = recognise_page(engine, picture, ReadingOptions()).page
        found = Read(
            words=page.words.texts,
            confidences=page.words.confidences.tolist(),
            text=page.text,
            rotation=page.rotation,
            seconds=time.process_time() - started,
        )
        kept.write_text(json.dumps(found))
    return json.loads(kept.read_text())


def bare(name: str) -> Read:
    lines = json.loads((SROIE / f"ocr/{name}.json").read_text())["lines"]
    text = "\n".join(line[1] for line in lines)
    return Read(words=list[str](text.split()), confidences=[], text=text, rotation=0, seconds=0)


def truth(name: str) -> list[str]:
    lines = (SROIE / f"box/{name}.csv").read_text(encoding="utf-8").splitlines()
    return [word for line in lines if line for word in line.split(",", 8)[8].lower().split()]


def matches(words: Sequence[str], name: str) -> tuple[int, int]:
    """Count the right words, and the words of reading and truth together."""
    wanted = Counter(truth(name))
    given = Counter(word.lower() for word in words)
    return (given & wanted).total(), given.total() + wanted.total()


def show(what: str, found: list[Read], names: list[str]) -> float:
    """Print and return word F1 in percent."""
    right, all_words = (
        sum(column) for column in zip(*map(matches, (item["words"] for item in found), names), strict=True)
    )
    contained: list[str] = []
    for label in LABELS:
        hits = [
            _plain(key[label]) in _plain(item["text"])
            for item, name in zip(found, names, strict=True)
            if (key := json.loads((SROIE / f"key/{name}.json").read_text())).get(label)
        ]
        contained.append(f"{label} {100 * sum(hits) / len(hits):5.1f}")
    f1 = 200 * right / all_words
    print(f"{what:12} n={len(names)} word F1 {f1:.2f} | {' '.join(contained)}", flush=True)
    return f1


def _plain(text: str) -> str:
    return re.sub(r"[^0-9a-z]", "", text.lower())


if __name__ == "__main__":
    main()
