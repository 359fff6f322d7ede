"""Photographs of pages for tests: sharp, blurred or dark, as a phone takes them."""

from collections.abc import Sequence
from io import BytesIO

from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont

LINES = (
    "Harbour Ltd",
    "12 Quay Street, Leeds LS1 4AB",
    "",
    "Invoice",
    "Invoice number: R-{number}",
    "Date: 2024-03-05",
    "",
    "Description              Amount",
    "Ropes and blocks          20.00",
    "VAT 20 %                   4.00",
    "Total                     24.00 EUR",
    "",
    "Please pay within 30 days to the account below.",
    "IBAN DE89 3704 0044 0532 0130 00",
)


def page_picture(
    number: int = 7,
    *,
    lines: Sequence[str] = LINES,
    size: tuple[int, int] = (1500, 2000),
    blur_px: float = 0,
    light: float = 1,
    noise: float = 0,
) -> bytes:
    """A JPEG of a page on a table, with a little shadow.

    blur_px: radius. light: 1 is bright. noise: its deviation; it makes a file large.
    """
    width, height = size
    picture = Image.new("RGB", size, (112, 92, 76))
    paper = Image.linear_gradient("L").resize((int(width * 0.9), int(height * 0.9)))
    paper = paper.point([215 + value // 8 for value in range(256)]).convert("RGB")
    draw = ImageDraw.Draw(paper)
    font = ImageFont.load_default(width / 38)
    for index, line in enumerate(lines):
        draw.text(
            (width * 0.08, height * (0.07 + 0.045 * index)), line.format(number=number), "#202020", font
        )
    picture.paste(paper, (int(width * 0.05), int(height * 0.05)))
    picture = picture.filter(ImageFilter.GaussianBlur(blur_px)).point(
        [int(value * light) for value in range(256)] * 3
    )
    if noise:
        picture = ImageChops.add(picture, Image.effect_noise(size, noise).convert("RGB"), offset=-128)
    buffer = BytesIO()
    picture.save(buffer, "JPEG", quality=92)
    return buffer.getvalue()
