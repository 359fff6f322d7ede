"""Colours of tags: any colour in paperless-ngx, one of a palette here."""

import colorsys
import re

HEX_OF_COLOR = {
    "blue": "#2f6fbf",
    "green": "#2c8a55",
    "amber": "#b06f00",
    "red": "#c8372f",
    "purple": "#7a4fc4",
    "teal": "#14808a",
    "pink": "#c23a80",
    "grey": "#66727f",
}
"""The colours of `tags.COLORS` as the pages show them in the light theme."""

UNCOLORED = "#a6cee3"
"""The colour that paperless-ngx gives a tag for which nobody chose one."""

_LEAST_SATURATION = 0.15
_HEX = re.compile(r"#?([0-9a-f]{6})")


def nearest_color(color: object) -> str | None:
    """The colour of the palette with the nearest hue; None for no colour, or the default one.

    color: such as `#a6cee3`. Colours with hardly any hue are grey.
    """
    written = _HEX.fullmatch(str(color).strip().lower())
    if written is None or f"#{written[1]}" == UNCOLORED:
        return None
    hue, saturation = _hue(written[1])
    if saturation < _LEAST_SATURATION:
        return "grey"
    hues = {name: _hue(hex_[1:])[0] for name, hex_ in HEX_OF_COLOR.items() if name != "grey"}
    return min(hues, key=lambda name: min(abs(hues[name] - hue), 1 - abs(hues[name] - hue)))


def _hue(hex_: str) -> tuple[float, float]:
    """Hue and saturation of six hexadecimal digits, each from 0 to 1."""
    red, green, blue = (int(hex_[at : at + 2], 16) / 255 for at in (0, 2, 4))
    hue, saturation, _ = colorsys.rgb_to_hsv(red, green, blue)
    return hue, saturation
