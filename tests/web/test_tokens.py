"""The colours can be read."""

import re
from itertools import product

import pytest

from docmill.web.templating import STATIC

BACKGROUNDS = ["bg", "surface", "sunken"]
TEXTS = ["text", "text-2", "text-3", "accent"]
PAIRS = [
    *product(TEXTS, BACKGROUNDS),
    ("on-accent", "accent"),
    ("on-accent", "accent-hover"),
    ("text", "info-soft"),
    ("text", "warn-soft"),
    ("text", "error-soft"),
    *((tone, f"{tone}-soft") for tone in ("info", "ok", "warn", "error")),
    *((tone, "surface") for tone in ("ok", "warn", "error")),
]


def luminance(colour: str) -> float:
    """The relative luminance of WCAG 2.2."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    brighter, darker = sorted([luminance(one), luminance(other)], reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


@pytest.fixture(scope="module", params=["light", "dark"])
def colours(request: pytest.FixtureRequest) -> dict[str, str]:
    text = (STATIC / "tokens.css").read_text()
    found = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", text)
    return {name: light if request.param == "light" else dark for name, light, dark in found}


@pytest.mark.parametrize(("text", "background"), PAIRS)
def test_text_stands_out(colours: dict[str, str], text: str, background: str) -> None:
    assert contrast(colours[text], colours[background]) >= 4.5


@pytest.mark.parametrize("background", BACKGROUNDS)
def test_edges_of_controls_stand_out(colours: dict[str, str], background: str) -> None:
    assert contrast(colours["edge"], colours[background]) >= 3


@pytest.mark.parametrize("box", ["sure", "unsure", "low"])
def test_boxes_stand_out_from_paper(box: str) -> None:
    text = (STATIC / "tokens.css").read_text()
    (colour,) = re.findall(rf"--box-{box}: (#\w{{6}});", text)

    assert contrast(colour, "#ffffff") >= 4.5
