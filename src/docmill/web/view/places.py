"""Places on a page: a box that a person drew, and the text in it."""

import numpy as np

from docmill.model.document import Box, Page


def parse_box(text: str) -> Box | None:
    """The box of four shares of the page, `x0,y0,x1,y1`; None for anything else."""
    try:
        x0, y0, x1, y1 = (float(share) for share in text.split(","))
    except ValueError:
        return None
    is_box = 0 <= x0 < x1 <= 1 and 0 <= y0 < y1 <= 1
    return Box(x0, y0, x1, y1) if is_box else None


def text_within(page: Page, box: Box) -> str:
    """The words whose middle is in the box, in reading order, one line of the page in each line."""
    words = page.words
    if not len(words.texts):
        return ""
    x, y = words.boxes[:, [0, 2]].mean(axis=1), words.boxes[:, [1, 3]].mean(axis=1)
    inside = (box.x0 <= x) & (x <= box.x1) & (box.y0 <= y) & (y <= box.y1)
    lines: dict[int, list[str]] = {}
    for index in np.flatnonzero(inside).tolist():
        lines.setdefault(int(words.lines[index]), []).append(words.texts[index])
    return "\n".join(" ".join(line) for line in lines.values())
