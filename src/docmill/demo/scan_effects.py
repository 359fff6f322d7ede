"""Effects of scanners, fax machines and telephone cameras on a page."""

import math
import time
from collections.abc import Sequence
from io import BytesIO
from typing import Any

import cv2
import numpy as np
import pypdfium2 as pdfium
from numpy.typing import NDArray
from PIL import Image
from pillow_heif import (
    register_heif_opener,  # pyright: ignore[reportUnknownVariableType]  # pillow-heif leaves its options untyped
)

Pixels = NDArray[np.uint8]
_FloatImage = NDArray[np.float32]

_SCAN_DPI = 170
_ORIENTATION_TAG = 0x0112
_PHOTO_SIZE_PX = (1512, 2016)
_WIDEST_ROLL_PT = 260
"""Narrower pages are till rolls."""
_FAX_WHITE = 195
"""Grey level above which a fax is white."""
_LEFT_SHADOW_PROBABILITY = 0.5
_FIXED_TIME = time.struct_time((2026, 9, 14, 8, 33, 12, 0, 257, 0))
"""Dates PDF files, so that their bytes are always the same."""
_QUARTER_TURNS = {1: 0, 6: 1, 3: 2, 8: 3}  # EXIF orientation to quarter turns counterclockwise before storing


def render_pages(pdf: bytes) -> list[Pixels]:
    """Render the pages as RGB, till rolls at a higher resolution."""
    document = pdfium.PdfDocument(pdf)
    pages: list[Pixels] = []
    try:
        for page in document:
            dpi = _SCAN_DPI * (1.4 if page.get_width() < _WIDEST_ROLL_PT else 1)
            # pypdfium2 infers `int` from its default, and leaves the rest untyped.
            bitmap = page.render(scale=dpi / 72)  # pyright: ignore[reportArgumentType, reportUnknownMemberType, reportUnknownVariableType]
            pages.append(np.asarray(bitmap.to_numpy(), np.uint8)[..., ::-1])  # pyright: ignore[reportUnknownMemberType]
    finally:
        document.close()
    return pages


def scan_page(page: Pixels, random: np.random.Generator) -> Pixels:
    """Apply the effects of a flatbed scanner: a little skew, uneven light, dust, compression."""
    height, width = page.shape[:2]
    turn = cv2.getRotationMatrix2D(
        (width / 2, height / 2), random.uniform(0.4, 1.7) * random.choice((-1, 1)), 0.985
    )
    paper = cv2.warpAffine(page, turn, (width, height), flags=cv2.INTER_AREA, borderValue=(226, 225, 221))
    lit = paper * _build_gradient((height, width), random, darkest=0.88)[..., None]
    lit = _blur(lit.astype(np.float32), random.uniform(0.5, 0.8))
    for x, y in random.random((40, 2)).tolist():  # dust
        cv2.circle(lit, (int(x * width), int(y * height)), int(random.integers(1, 3)), (120, 118, 115), -1)
    data = BytesIO()
    image = Image.fromarray(_add_noise(lit, random, 5))
    image.save(data, "JPEG", quality=int(random.integers(55, 72)))
    return np.asarray(Image.open(data))


def _build_gradient(shape: tuple[int, int], random: np.random.Generator, *, darkest: float) -> _FloatImage:
    """Build light that falls off towards one side, as factors from 1 to `darkest`."""
    angle = random.uniform(0, 2 * math.pi)
    y, x = np.linspace(0, 1, shape[0], dtype=np.float32), np.linspace(0, 1, shape[1], dtype=np.float32)
    slope = x[None, :] * np.float32(math.cos(angle)) + y[:, None] * np.float32(math.sin(angle))
    slope = (slope - slope.min()) / np.ptp(slope)
    return 1 - np.float32(1 - darkest) * slope * slope


def _blur(page: _FloatImage, sigma: float) -> _FloatImage:
    return np.asarray(cv2.GaussianBlur(page, (0, 0), sigma), np.float32)


def _add_noise(page: _FloatImage, random: np.random.Generator, strength: float) -> Pixels:
    grain = random.standard_normal(page.shape[:2], np.float32) * strength
    return np.clip(page + grain[..., None], 0, 255).astype(np.uint8)


def photograph_page(page: Pixels, random: np.random.Generator, *, tilt: float = 0.025) -> Pixels:
    """Apply the effects of a telephone camera: perspective, bent paper on a tabletop, a shadow.

    tilt: how far the corners may move, as a share of half a side.
    """
    width, height = _PHOTO_SIZE_PX
    # A wooden tabletop: long streaks in a random brown.
    streaks = random.standard_normal((height // 4, width // 48), np.float32)
    grain = cv2.GaussianBlur(cv2.resize(streaks, (width, height), interpolation=cv2.INTER_CUBIC), (0, 0), 2)
    colour = np.array((random.uniform(95, 150), random.uniform(72, 105), random.uniform(50, 80)), np.float32)
    tabletop = np.clip(colour + 14 * grain[..., None], 0, 255).astype(np.float32)
    page = _bend_paper(page, random)
    # The page's corners in the photo, clockwise from top left: turned a little, and none quite in its place.
    scale = min(width * 0.9 / page.shape[1], height * 0.9 / page.shape[0])
    half = np.array((page.shape[1], page.shape[0]), np.float32) * scale / 2
    square = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)], np.float32) * half
    angle = np.deg2rad(random.uniform(-3, 3))
    turn = np.array([(np.cos(angle), np.sin(angle)), (-np.sin(angle), np.cos(angle))], np.float32)
    jitter = random.uniform(-tilt, tilt, (4, 2)).astype(np.float32) * half
    corners = (square @ turn * 0.97 + jitter + np.array((width / 2, height / 2))).astype(np.float32)
    source = np.array([(0, 0), (page.shape[1], 0), page.shape[1::-1], (0, page.shape[0])], np.float32)
    lens = cv2.getPerspectiveTransform(source, corners)
    paper = cv2.warpPerspective(page, lens, (width, height), flags=cv2.INTER_AREA)
    mask = cv2.warpPerspective(np.ones(page.shape[:2], np.float32), lens, (width, height))
    small = np.asarray(mask[::4, ::4], np.float32)
    contact_shadow = _resize(_blur(np.roll(small, (4, 3), (0, 1)), 3), (width, height))
    scene = (
        tabletop * (1 - 0.45 * contact_shadow)[..., None] * (1 - mask)[..., None] + paper * mask[..., None]
    )
    scene *= (_build_gradient((height, width), random, darkest=0.72) * _build_shadow(random))[..., None]
    scene *= np.array((1.0, 0.98, 0.93), np.float32)
    return _add_noise(_blur(np.asarray(scene, np.float32), 0.7), random, 3.5)


def _bend_paper(page: Pixels, random: np.random.Generator) -> Pixels:
    """Distort a page like paper that does not lie flat."""
    height, width = page.shape[:2]
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    bend = random.uniform(0.002, 0.004) * height
    bent = cv2.remap(
        page,
        (x + bend / 2 * np.sin(y / height * np.pi * 2)).astype(np.float32),
        (y + bend * np.sin(x / width * np.pi)).astype(np.float32),
        cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_REPLICATE,
    )
    return np.asarray(bent, np.uint8)


def _build_shadow(random: np.random.Generator) -> _FloatImage:
    """Build the photographer's shadow, as factors; drawn small and enlarged, since its edge is soft."""
    width, height = (side // 8 for side in _PHOTO_SIZE_PX)
    edge = random.uniform(0.55, 0.8)
    outline = np.array(
        [(width * edge, 0), (width, 0), (width, height), (width * (edge + 0.15), height)], np.int32
    )
    shade = np.ones((height, width), np.float32)
    cv2.fillPoly(shade, [outline], (0.78,))
    if random.random() < _LEFT_SHADOW_PROBABILITY:
        shade = shade[:, ::-1]
    return _resize(_blur(np.ascontiguousarray(shade), 5), _PHOTO_SIZE_PX)


def _resize(page: _FloatImage, size: tuple[int, int]) -> _FloatImage:
    return np.asarray(cv2.resize(page, size, interpolation=cv2.INTER_LINEAR), np.float32)


def encode_pages(pages: Sequence[Pixels], suffix: str, *, orientation: int = 1) -> bytes:
    """Encode the pages as a file. suffix: of the file's name. orientation: the EXIF value, for JPEG only."""
    images = [Image.fromarray(page) for page in pages]
    dpi = (_SCAN_DPI, _SCAN_DPI)
    options: dict[str, Any] = {}
    match suffix.casefold():
        case ".pdf":
            name = "PDF"
            options = {"resolution": _SCAN_DPI, "creationDate": _FIXED_TIME, "modDate": _FIXED_TIME}
        case ".tif":  # black and white, as a fax arrives
            greys = [cv2.cvtColor(page, cv2.COLOR_RGB2GRAY) for page in pages]
            inks = [cv2.threshold(grey, _FAX_WHITE, 255, cv2.THRESH_BINARY)[1] for grey in greys]
            images = [Image.fromarray(ink).convert("1") for ink in inks]
            name, options = "TIFF", {"compression": "group4", "dpi": dpi}
        case ".jpg":
            exif = Image.Exif()
            exif[_ORIENTATION_TAG] = orientation
            images = [Image.fromarray(np.rot90(pages[0], _QUARTER_TURNS[orientation]))]
            name, options = "JPEG", {"quality": 82, "exif": exif.tobytes()}
        case ".png":
            images = [images[0].convert("L")]
            name, options = "PNG", {"dpi": dpi}
        case ".webp":
            name, options = "WEBP", {"quality": 78}
        case ".heic":
            register_heif_opener()
            name, options = "HEIF", {"quality": 55, "enc_params": {"preset": "ultrafast"}}
        case _:
            raise ValueError(f"no sample is written as {suffix!r}")
    if len(images) > 1:
        options |= {"save_all": True, "append_images": images[1:]}
    data = BytesIO()
    images[0].save(data, name, **options)
    return data.getvalue()
