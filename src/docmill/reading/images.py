"""Pictures: JPEG, PNG, WebP, TIFF and HEIC, one page per frame."""

import io
import struct
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pillow_heif
from numpy.typing import NDArray
from PIL import ExifTags, Image, ImageFile, ImageOps

from docmill.errors import CorruptError, TooLargeError
from docmill.reading.options import ReadingOptions

Image.MAX_IMAGE_PIXELS = None  # the limit is ours, and an error of ours
Image.init()  # `Image.open` finds only formats whose modules are loaded
pillow_heif.register_heif_opener(  # pyright: ignore[reportUnknownMemberType] - untyped
    thumbnails=False
)

FORMATS = ("JPEG", "PNG", "WEBP", "TIFF", "HEIF")
LONG_SIDE_PT = 842.0
"""Of pictures that do not say how large they are: A4."""
PLAUSIBLE_DPI = (50.0, 1200.0)
DAMAGED = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    LookupError,
    TypeError,
    ArithmeticError,
    RuntimeError,
    struct.error,
)
"""What Pillow's and libheif's decoders raise on files that are not what they should be."""
TURNS = {3: 180, 4: 180, 5: 90, 6: 90, 7: 270, 8: 270}
"""EXIF orientation to degrees clockwise."""


class Picture(NamedTuple):
    """A page's picture as displayed. pixels: RGB, uint8, shape (height, width, 3). rotation: as in `Page`."""

    pixels: NDArray[np.uint8]
    width_pt: float
    height_pt: float
    rotation: int


def count_frames(path: Path, options: ReadingOptions) -> int:
    """How many pages the picture file has. Raises CorruptError, TooLargeError."""
    with _opened(path) as image:
        frames = getattr(image, "n_frames", 1) if image.format in ("TIFF", "HEIF") else 1
        _check_size(image, options)
    return frames


def load(
    path: Path,
    page_number: int,
    fit: tuple[int, int],
    options: ReadingOptions,
    *,
    rotation: int | None = None,
) -> Picture:
    """One page, not larger than `fit`, turned by `rotation` or else as its EXIF says.

    Raises CorruptError, TooLargeError.
    """
    with _opened(path) as image:
        if page_number > 1:
            image.seek(page_number - 1)
        _check_size(image, options)
        meant = TURNS.get(image.getexif().get(ExifTags.Base.Orientation, 1), 0)
        turn = meant if rotation is None else rotation
        width_pt, height_pt = _size_pt(image)
        image.draft("RGB", (max(fit), max(fit)))  # a JPEG is decoded no larger than needed
        _decode(image)
        upright = ImageOps.exif_transpose(_plain(image))
        if turn != meant:
            upright = upright.rotate(meant - turn, expand=True)
        upright.thumbnail(fit, Image.Resampling.LANCZOS)
    if turn % 180:
        width_pt, height_pt = height_pt, width_pt
    return Picture(np.asarray(upright), width_pt, height_pt, turn)


def webp(picture: Picture) -> bytes:
    """The picture, small: a page 320 pixels wide takes about 20 KB."""
    file = io.BytesIO()
    Image.fromarray(picture.pixels).save(file, "WEBP", quality=75, method=2)
    return file.getvalue()


@contextmanager
def _opened(path: Path) -> Generator[Image.Image]:
    try:
        with Image.open(path, formats=FORMATS) as image:
            yield image
    except DAMAGED as error:
        raise CorruptError("the picture is damaged; save or scan it again") from error


def _check_size(image: Image.Image, options: ReadingOptions) -> None:
    if image.width * image.height > options.max_pixels:
        raise TooLargeError(
            f"the picture has {image.width} x {image.height} pixels, above {options.max_pixels:,}; reduce it"
        )


def _decode(image: Image.Image) -> None:
    """Decode the pixels; of a picture that was cut off, those that are there."""
    try:
        image.load()
    except OSError:
        ImageFile.LOAD_TRUNCATED_IMAGES = True
        try:
            image.load()
        finally:
            ImageFile.LOAD_TRUNCATED_IMAGES = False


def _plain(image: Image.Image) -> Image.Image:
    """RGB on white, eight bits."""
    if image.mode[0] in "IF":  # 16 or 32 bits, which Pillow would clip instead of scaling
        values = np.asarray(image, np.float32)
        image = Image.fromarray((values * (255 / max(float(values.max(initial=0)), 1))).astype(np.uint8))
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("RGB")


def _size_pt(image: Image.Image) -> tuple[float, float]:
    dpi = float(image.info.get("dpi", (0.0, 0.0))[0])
    low, high = PLAUSIBLE_DPI
    scale = 72 / dpi if low <= dpi <= high else LONG_SIDE_PT / max(image.size)
    return image.width * scale, image.height * scale
