"""Scanned papers as a telephone camera sees them, for want of photographs that may be learned from.

A scan is creased, faded and bent, laid on a table, seen at an angle, in uneven light, and made small as by
programs that send pictures.
"""

import math
import zlib
from collections.abc import Iterable
from functools import partial
from io import BytesIO
from pathlib import Path

import cv2
import numpy as np
from bench.data.text_layer import read_whole
from PIL import Image

from docmill.demo.scan_effects import Pixels, photograph_page
from tools.page_model.readings import keep_reading

_CREASED, _FADED = 0.6, 0.3
_TILT = 0.09
"""Furthest that a corner of the paper moves, as a share of half its side."""
_SMALLEST = 0.4
_LONGEST_PX = 2600
_QUALITY = (45, 85)


def photograph(page: Pixels, random: np.random.Generator) -> bytes:
    """Return the page as a JPEG file that a telephone might have taken."""
    shrink = min(1, _LONGEST_PX / max(page.shape[:2]))
    small = cv2.resize(page, None, fx=shrink, fy=shrink, interpolation=cv2.INTER_AREA)
    worn = np.asarray(small, np.float32)
    if random.random() < _CREASED:
        worn *= _creases(worn.shape[:2], random)[..., None]
    if random.random() < _FADED:
        worn = 255 - (255 - worn) * _fading(worn.shape[:2], random)[..., None]
    taken = photograph_page(worn.clip(0, 255).astype(np.uint8), random, tilt=random.uniform(0.02, _TILT))
    shrink = random.uniform(_SMALLEST, 1)
    sent = cv2.resize(taken, None, fx=shrink, fy=shrink, interpolation=cv2.INTER_AREA)
    data = BytesIO()
    Image.fromarray(np.asarray(sent, np.uint8)).save(data, "JPEG", quality=int(random.integers(*_QUALITY)))
    return data.getvalue()


def _creases(shape: tuple[int, int], random: np.random.Generator) -> np.ndarray:
    """Light and shade beside folds across the paper, as factors."""
    height, width = shape
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    light = np.ones(shape, np.float32)
    for _ in range(int(random.integers(1, 5))):
        angle = random.normal(0, 0.12) + (math.pi / 2 if random.random() < _FADED else 0)
        away = (
            (y - height * random.random()) * math.cos(angle) + (x - width * random.random()) * math.sin(angle)
        ) / max(shape)
        side = np.where(away > 0, -1.0, 1.0) * random.uniform(0.04, 0.16)
        light += (side * np.exp(-np.abs(away) / random.uniform(0.01, 0.08))).astype(np.float32)
    return light


def _fading(shape: tuple[int, int], random: np.random.Generator) -> np.ndarray:
    """Share of the ink that thermal paper has kept, in patches."""
    height, width = shape
    patches = random.uniform(0.35, 1, (int(random.integers(2, 6)), int(random.integers(2, 4))))
    grown = cv2.resize(patches.astype(np.float32), (width, height), interpolation=cv2.INTER_CUBIC)
    return np.asarray(grown.clip(0.3, 1), np.float32)


def keep_photographed(pictures: Iterable[Path], folder: Path) -> None:
    """Photograph each picture and keep what is read of it as NAME.json.zst; those kept are not read again."""
    folder.mkdir(parents=True, exist_ok=True)
    for picture in pictures:
        kept = folder / f"{picture.stem}.json.zst"
        if kept.exists():
            continue
        with Image.open(picture) as image:
            page = np.asarray(image.convert("RGB"))
        taken = folder / f"{picture.stem}.jpg"
        taken.write_bytes(photograph(page, np.random.default_rng(zlib.crc32(picture.stem.encode()))))
        keep_reading(kept, picture.name, partial(read_whole, taken))
