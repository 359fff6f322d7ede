from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from docmill.errors import CorruptError, TooLargeError
from docmill.reading.files.options import ReadingOptions
from docmill.reading.images import image_file

OPTIONS = ReadingOptions()
FIT = (2048, 2048)


def half_black(mode: str = "RGB", size: tuple[int, int] = (60, 40)) -> Image.Image:
    """White with a black upper half."""
    image = Image.new("L", size, 255)
    image.paste(0, (0, 0, size[0], size[1] // 2))
    return image.convert(mode)


@pytest.mark.parametrize(
    ("mode", "name"),
    [
        ("RGB", "a.jpg"),
        ("L", "a.jpg"),
        ("CMYK", "a.jpg"),
        ("P", "a.png"),
        ("RGBA", "a.png"),
        ("LA", "a.png"),
        ("1", "a.png"),
        ("RGB", "a.webp"),
        ("1", "a.tif"),
        ("RGB", "a.heic"),
        ("P", "a.gif"),
        ("RGB", "a.bmp"),
        ("1", "a.bmp"),
        ("CMYK", "a.tif"),
        ("P", "a.tif"),
        ("RGBA", "a.tif"),
        ("LA", "a.tif"),
    ],
)
def test_every_kind_of_picture_becomes_rgb(tmp_path: Path, mode: str, name: str) -> None:
    half_black(mode).save(tmp_path / name)

    pixels = image_file.load(tmp_path / name, 1, FIT, OPTIONS).pixels

    assert pixels.shape == (40, 60, 3)
    assert pixels[5].max() < 30
    assert pixels[35].min() > 225


def test_sixteen_bits_are_scaled_not_clipped(tmp_path: Path) -> None:
    values = np.full((40, 60), 60000, np.uint16)
    values[:20] = 2000
    Image.fromarray(values).save(tmp_path / "a.png")

    pixels = image_file.load(tmp_path / "a.png", 1, FIT, OPTIONS).pixels

    assert pixels[5].max() < 30
    assert pixels[35].min() > 225


def test_transparent_is_white(tmp_path: Path) -> None:
    Image.new("RGBA", (10, 10), (0, 0, 0, 0)).save(tmp_path / "a.png")

    assert image_file.load(tmp_path / "a.png", 1, FIT, OPTIONS).pixels.min() == 255


@pytest.mark.parametrize(
    ("orientation", "rotation", "shape"),
    [
        (1, 0, (40, 60)),
        (2, 0, (40, 60)),
        (3, 180, (40, 60)),
        (4, 180, (40, 60)),
        (5, 90, (60, 40)),
        (6, 90, (60, 40)),
        (7, 270, (60, 40)),
        (8, 270, (60, 40)),
    ],
)
def test_the_camera_s_orientation_is_applied(
    tmp_path: Path, orientation: int, rotation: int, shape: tuple[int, int]
) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    stored(orientation).save(tmp_path / "a.jpg", exif=exif, quality=100)

    picture = image_file.load(tmp_path / "a.jpg", 1, FIT, OPTIONS)

    assert (picture.rotation, stored(orientation).size[::-1]) == (rotation, shape)
    assert picture.pixels.shape == (40, 60, 3)
    assert picture.pixels[5, 5].max() < 30
    assert picture.pixels[5, 55].min() > 225
    assert picture.pixels[35, 5].min() > 225


def stored(orientation: int) -> Image.Image:
    """What a camera stores with this EXIF orientation of a sheet whose top left quarter is black."""
    sheet = Image.new("L", (60, 40), 255)
    sheet.paste(0, (0, 0, 30, 20))
    undone = {
        2: [Image.Transpose.FLIP_LEFT_RIGHT],
        3: [Image.Transpose.ROTATE_180],
        4: [Image.Transpose.FLIP_TOP_BOTTOM],
        5: [Image.Transpose.TRANSPOSE],
        6: [Image.Transpose.ROTATE_90],
        7: [Image.Transpose.TRANSVERSE],
        8: [Image.Transpose.ROTATE_270],
    }
    for step in undone.get(orientation, []):
        sheet = sheet.transpose(step)
    return sheet


@pytest.mark.parametrize(
    "compression", ["raw", "tiff_lzw", "packbits", "tiff_adobe_deflate", "jpeg", "group4"]
)
def test_every_compression_of_a_tiff_is_read(tmp_path: Path, compression: str) -> None:
    mode = "1" if compression == "group4" else "L"
    half_black(mode).save(tmp_path / "a.tif", compression=compression)

    pixels = image_file.load(tmp_path / "a.tif", 1, FIT, OPTIONS).pixels

    assert pixels[5].max() < 30
    assert pixels[35].min() > 225


@pytest.mark.parametrize("name", ["a.gif", "a.png", "a.webp"])
def test_an_animation_is_its_first_frame(tmp_path: Path, name: str) -> None:
    later = Image.new("RGB", (60, 40), "red")
    half_black().save(tmp_path / name, save_all=True, append_images=[later], duration=100)

    assert image_file.count_frames(tmp_path / name, OPTIONS) == 1
    assert image_file.load(tmp_path / name, 1, FIT, OPTIONS).pixels[5].max() < 30


def test_a_heic_is_turned_once(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    stored(6).save(tmp_path / "a.heic", exif=exif, quality=100)

    picture = image_file.load(tmp_path / "a.heic", 1, FIT, OPTIONS)

    assert picture.pixels.shape == (40, 60, 3)
    assert picture.pixels[5, 5].max() < 40
    assert picture.pixels[35, 55].min() > 215


def test_a_heic_of_several_pictures_has_as_many_pages(tmp_path: Path) -> None:
    half_black().convert("RGB").save(
        tmp_path / "a.heic", save_all=True, append_images=[half_black(size=(80, 40))]
    )

    assert image_file.count_frames(tmp_path / "a.heic", OPTIONS) == 2
    assert image_file.load(tmp_path / "a.heic", 2, FIT, OPTIONS).pixels.shape == (40, 80, 3)


def test_floating_point_is_scaled(tmp_path: Path) -> None:
    values = np.full((40, 60), 0.8, np.float32)
    values[:20] = -1
    Image.fromarray(values).save(tmp_path / "a.tif")

    pixels = image_file.load(tmp_path / "a.tif", 1, FIT, OPTIONS).pixels

    assert pixels[5].max() < 30
    assert pixels[35].min() > 225


def test_a_turn_asked_for_wins_over_the_camera_s(tmp_path: Path) -> None:
    half_black().save(tmp_path / "a.png")

    picture = image_file.load(tmp_path / "a.png", 1, FIT, OPTIONS, rotation=90)

    assert picture.pixels.shape == (60, 40, 3)
    assert picture.pixels[:, -5].max() < 30
    assert (picture.width_pt, picture.height_pt) == pytest.approx((842 * 40 / 60, 842))


def test_the_resolution_gives_the_size(tmp_path: Path) -> None:
    half_black(size=(600, 300)).save(tmp_path / "a.png", dpi=(300, 300))

    picture = image_file.load(tmp_path / "a.png", 1, FIT, OPTIONS)

    assert (picture.width_pt, picture.height_pt) == pytest.approx((144, 72), abs=0.1)


@pytest.mark.parametrize("name", ["a.png", "a.jpg"])
def test_large_pictures_are_fitted(tmp_path: Path, name: str) -> None:
    half_black(size=(900, 600)).save(tmp_path / name)

    assert image_file.load(tmp_path / name, 1, (90, 90), OPTIONS).pixels.shape == (60, 90, 3)


def test_a_tiff_has_a_page_per_frame(tmp_path: Path) -> None:
    first, second = half_black(), half_black(size=(30, 90))
    first.save(tmp_path / "a.tif", save_all=True, append_images=[second])

    assert image_file.count_frames(tmp_path / "a.tif", OPTIONS) == 2
    assert image_file.load(tmp_path / "a.tif", 2, FIT, OPTIONS).pixels.shape == (90, 30, 3)


def test_too_many_pixels_are_refused_before_they_are_decoded(tmp_path: Path) -> None:
    half_black().save(tmp_path / "a.png")
    strict = ReadingOptions(max_pixels=100)

    with pytest.raises(TooLargeError, match="60 x 40"):
        image_file.count_frames(tmp_path / "a.png", strict)


def test_a_broken_picture_is_corrupt(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n and nothing else")

    with pytest.raises(CorruptError, match="damaged"):
        image_file.load(tmp_path / "a.png", 1, FIT, OPTIONS)


def test_what_is_there_of_a_cut_off_picture_is_read(tmp_path: Path) -> None:
    noise = np.random.default_rng(1).integers(0, 255, (200, 200, 3), np.uint8)
    Image.fromarray(noise).save(tmp_path / "a.jpg")
    whole = (tmp_path / "a.jpg").read_bytes()
    (tmp_path / "a.jpg").write_bytes(whole[: len(whole) // 2])

    assert image_file.load(tmp_path / "a.jpg", 1, FIT, OPTIONS).pixels.shape == (200, 200, 3)


def test_a_thumbnail_is_a_small_webp(tmp_path: Path) -> None:
    half_black(size=(600, 900)).save(tmp_path / "a.png")

    picture = image_file.load(tmp_path / "a.png", 1, (320, 1280), OPTIONS)

    webp = image_file.webp(picture)
    assert webp[8:12] == b"WEBP"
    assert len(webp) < 20_000
