"""Pictures of every common kind. A frame of a TIFF or HEIC is a page; an animation is its first frame."""

import io
import struct
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple, TypeAlias

import numpy as np
import pillow_heif
from numpy.typing import NDArray
from PIL import ExifTags, Image, ImageFile, TiffImagePlugin

from docmill.errors import CorruptError, TooLargeError
from docmill.reading.files.options import ReadingOptions

Image.MAX_IMAGE_PIXELS = None  # the limit is ours, and an error of ours
Image.init()  # `Image.open` finds only formats whose modules are loaded
pillow_heif.register_heif_opener(  # pyright: ignore[reportUnknownMemberType] - untyped
    thumbnails=False
)

Pixels: TypeAlias = NDArray[np.uint8]

FORMATS = ("JPEG", "PNG", "WEBP", "TIFF", "HEIF", "GIF", "BMP")
PAGED = ("TIFF", "HEIF")
LONG_SIDE_PT = 842.0
"""Long side of pictures that do not state their size: A4."""
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
"""Errors that Pillow's and libheif's decoders raise on malformed files."""
TURNS = {3: 180, 4: 180, 5: 90, 6: 90, 7: 270, 8: 270}
"""EXIF orientation to degrees clockwise."""
UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""Operation that undoes each EXIF orientation."""
HEIF_TURNED = (b"irot", b"imir")
"""Properties of a HEIF that its decoder obeys; its EXIF then repeats the turn."""
HEIF_HEAD_BYTES = 262_144


class Picture(NamedTuple):
    """A page's picture as displayed. pixels: RGB, uint8, shape (height, width, 3). rotation: as in `Page`."""

    pixels: NDArray[np.uint8]
    width_pt: float
    height_pt: float
    rotation: int

    @property
    def width_px(self) -> int:  # noqa: D102 - the name says it
        return self.pixels.shape[1]

    @property
    def height_px(self) -> int:  # noqa: D102 - the name says it
        return self.pixels.shape[0]


def count_frames(path: Path, options: ReadingOptions) -> int:
    """Count the pages of a picture file. Raises CorruptError, TooLargeError."""
    with _open_image(path) as image:
        frames = getattr(image, "n_frames", 1) if image.format in PAGED else 1
        _check_size(image, options.max_pixels)
    return frames


def load(
    source: Path | bytes,
    page_number: int,
    fit: tuple[int, int],
    options: ReadingOptions | None = None,
    *,
    rotation: int | None = None,
) -> Picture:
    """Load a page of a file, or a stored picture, not larger than `fit`.

    rotation: turns it; without, it is turned as its EXIF states. Raises CorruptError, TooLargeError.
    """
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
        head = file.read(HEIF_HEAD_BYTES)
        file.seek(0)
        with _open_image(file) as image:
            if page_number > 1:
                image.seek(page_number - 1)
            _check_size(image, (options or ReadingOptions()).max_pixels)
            orientation = _orientation(image, head)
            upright_turn = TURNS.get(orientation, 0)
            turn = upright_turn if rotation is None else rotation
            dpi = float(image.info.get("dpi", (0.0, 0.0))[0])
            low, high = PLAUSIBLE_DPI
            scale = 72 / dpi if low <= dpi <= high else LONG_SIDE_PT / max(image.size)
            width_pt, height_pt = image.width * scale, image.height * scale
            image.draft("RGB", (max(fit), max(fit)))  # a JPEG is decoded no larger than needed
            _decode(image)
            upright = _as_rgb(image)
            if orientation in UPRIGHT:
                upright = upright.transpose(UPRIGHT[orientation])
            if turn != upright_turn:
                upright = upright.rotate(upright_turn - turn, expand=True)
            upright.thumbnail(fit, Image.Resampling.LANCZOS)
    if turn % 180:
        width_pt, height_pt = height_pt, width_pt
    return Picture(np.asarray(upright), width_pt, height_pt, turn)


def excerpt(path: Path, options: ReadingOptions, first: int, last: int) -> bytes:
    """Write frames `first` to `last` as an upright TIFF, the same bytes each time.

    Raises CorruptError, TooLargeError.
    """
    with path.open("rb") as file:
        head = file.read(HEIF_HEAD_BYTES)
    target = io.BytesIO()
    with _open_image(path) as image, TiffImagePlugin.AppendingTiffWriter(target) as writer:
        for index in range(first - 1, last):
            image.seek(index)
            _check_size(image, options.max_pixels)
            turn = UPRIGHT.get(_orientation(image, head))
            stored, dpi = str(image.info.get("compression", "")), image.info.get("dpi")
            _decode(image)
            frame = image.copy() if turn is None else image.transpose(turn)
            frame.info.clear()
            # As it was stored, or else without loss; a HEIF states no compression.
            is_lossy = stored in ("jpeg", "") and frame.mode in ("L", "RGB")
            compression = "jpeg" if is_lossy else "tiff_adobe_deflate"
            if frame.mode == "1":
                compression = "group4"
            frame.save(writer, "TIFF", compression=compression, **({"dpi": dpi} if dpi else {}))
            writer.newFrame()
    return target.getvalue()


def _orientation(image: Image.Image, head: bytes) -> int:
    """The EXIF orientation that the decoder has not undone."""
    if image.format != "HEIF":
        return int(image.getexif().get(ExifTags.Base.Orientation, 1))
    done = any(mark in head for mark in HEIF_TURNED)
    return 1 if done else int(image.info.get("original_orientation") or 1)


def webp(picture: Picture) -> bytes:
    """Encode the picture as WebP: a page 320 pixels wide takes about 20 KB."""
    file = io.BytesIO()
    Image.fromarray(picture.pixels).save(file, "WEBP", quality=75, method=2)
    return file.getvalue()


@contextmanager
def _open_image(file: Path | IO[bytes]) -> Generator[Image.Image]:
    try:
        with Image.open(file, formats=FORMATS) as image:
            yield image
    except DAMAGED as error:
        raise CorruptError("the picture is damaged; save or scan it again") from error


def _check_size(image: Image.Image, max_pixels: int) -> None:
    if image.width * image.height > max_pixels:
        raise TooLargeError(
            f"the picture has {image.width} x {image.height} pixels, above {max_pixels:,}; reduce it"
        )


def _decode(image: Image.Image) -> None:
    """Decode the pixels; of a truncated picture, those that are there."""
    try:
        image.load()
    except OSError:
        ImageFile.LOAD_TRUNCATED_IMAGES = True
        try:
            image.load()
        finally:
            ImageFile.LOAD_TRUNCATED_IMAGES = False


def _as_rgb(image: Image.Image) -> Image.Image:
    """The picture in RGB on white, eight bits."""
    if image.mode[0] in "IF":  # 16 or 32 bits, which Pillow would clip instead of scaling
        values = np.nan_to_num(np.asarray(image, np.float32))
        most = float(values.max(initial=0))
        image = Image.fromarray((np.clip(values, 0, None) * (255 / (most or 1))).astype(np.uint8))
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("RGB")
