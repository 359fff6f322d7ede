"""Changes to a labelled page that leave its labels true, so that each page is seen in many forms."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tools.page_model.examples import LabelledPage

_LOOK_ALIKE = {
    "0": "O", "O": "0", "1": "l", "l": "1", "I": "1", "5": "S", "S": "5", "8": "B", "B": "8", "G": "6",
    "Z": "2", "i": "l", "m": "rn", "n": "ri", "u": "v", "e": "c", "c": "e", "a": "o", "o": "a", ".": ",",
    ",": ".", "ä": "a", "ö": "o", "ü": "u", "é": "e", "ß": "B",
}  # fmt: skip
_MISREAD, _GONE, _SHIFT = 0.02, 0.04, 0.15


def distorted(page: LabelledPage, draw: np.random.Generator) -> LabelledPage:
    """The page with words misread and missing, blocks cut off, other digits, and boxes scaled and moved."""
    texts = [_misread(text, draw) if draw.random() < _MISREAD else text for text in page.texts]
    if draw.random() < 0.5:  # noqa: PLR2004 - every second page
        texts = [
            _other_digits(text, draw) if role <= 0 else text
            for text, role in zip(texts, page.roles, strict=True)
        ]
    case = draw.random()
    if case < 0.1:  # noqa: PLR2004 - every tenth
        texts = [text.upper() for text in texts]
    elif case < 0.15:  # noqa: PLR2004
        texts = [text.title() for text in texts]
    height = float(np.median(page.boxes[:, 3] - page.boxes[:, 1]))
    scale = np.exp(draw.normal(0, 0.12, 2))
    boxes = page.boxes * np.array([*scale, *scale], np.float32)
    boxes[:, [0, 2]] += draw.normal(0, 0.03)
    boxes += draw.normal(0, _SHIFT * height, boxes.shape).astype(np.float32) * draw.random()
    boxes[:, 2:] = np.maximum(boxes[:, 2:], boxes[:, :2] + height / 4)
    keep = draw.random(len(texts)) >= draw.uniform(0, 2 * _GONE)
    if draw.random() < 0.15:  # noqa: PLR2004
        keep &= _kept_lines(page, draw)
    keep |= (page.roles > 0) & (draw.random(len(texts)) < 0.9)  # noqa: PLR2004 - values go rarely
    if keep.sum() < 5:  # noqa: PLR2004 - nothing would be left
        keep[:] = True
    return replace(
        page,
        texts=[text for text, kept in zip(texts, keep, strict=True) if kept],
        boxes=boxes[keep],
        lines=page.lines[keep],
        roles=page.roles[keep],
        goes_on=page.goes_on[keep],
        meanings=[several for several, kept in zip(page.meanings, keep, strict=True) if kept],
    )


def _kept_lines(page: LabelledPage, draw: np.random.Generator) -> NDArray[np.bool_]:
    """A run of lines cut off at the top or the bottom."""
    cut = page.lines.min() + draw.uniform(0, 0.3) * (page.lines.max() - page.lines.min())
    return page.lines >= cut if draw.random() < 0.5 else page.lines <= page.lines.max() - cut  # noqa: PLR2004


def _misread(text: str, draw: np.random.Generator) -> str:
    at = int(draw.integers(len(text)))
    return text[:at] + _LOOK_ALIKE.get(text[at], "") + text[at + 1 :] or text


def _other_digits(text: str, draw: np.random.Generator) -> str:
    if not any(map(str.isdecimal, text)):
        return text
    return "".join(str(draw.integers(10)) if sign.isdecimal() else sign for sign in text)


Text = tuple[tuple[str, ...], ...]
"""The words of a name or an address, line by line."""


def text_of_role(page: LabelledPage, role: int) -> Text:
    """The first text of a role, line by line; nothing if the page has none."""
    return tuple(tuple(page.texts[index] for index in run) for run in _runs(page, role))


def with_other_text(page: LabelledPage, role: int, text: Text) -> LabelledPage:
    """The page with the first text of a role replaced by that of another paper, spread over the same lines.

    Lines that the new text lacks go, and those that it has too many are left out.
    """
    runs = _runs(page, role)
    if not runs or not text:
        return page
    first = {run[0]: words for run, words in zip(runs, text, strict=False)}
    gone = {index for run in runs for index in run}
    texts: list[str] = []
    origins: list[int] = []
    boxes: list[NDArray[np.float32]] = []
    for index in range(len(page)):
        if index in first:
            run = next(run for run in runs if run[0] == index)
            texts += first[index]
            origins += [index, *[run[min(1, len(run) - 1)]] * (len(first[index]) - 1)]
            boxes.extend(_spread(page.boxes[run[0]], page.boxes[run[-1]], first[index]))
        elif index not in gone:
            texts.append(page.texts[index])
            origins.append(index)
            boxes.append(page.boxes[index])
    goes_on = page.goes_on[origins]
    goes_on[1:][(page.roles[origins] == role)[1:] & (np.diff(origins) == 0)] = 1
    return replace(
        page,
        texts=texts,
        boxes=np.stack(boxes).astype(np.float32),
        lines=page.lines[origins],
        roles=page.roles[origins],
        goes_on=goes_on,
        meanings=[() if origin in gone else page.meanings[origin] for origin in origins],
    )


def _runs(page: LabelledPage, role: int) -> list[list[int]]:
    """Indices of the words of the first text of a role, by line, if these stand side by side."""
    runs: list[list[int]] = []
    for index in np.flatnonzero(page.roles == role).tolist():
        if runs and not page.goes_on[index]:
            break
        if runs and page.lines[runs[-1][-1]] == page.lines[index] and runs[-1][-1] == index - 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    return runs


def _spread(
    first: NDArray[np.float32], last: NDArray[np.float32], words: Sequence[str]
) -> list[NDArray[np.float32]]:
    """Boxes for words from the left of the first box on, as wide as their letters were there."""
    ends = np.cumsum([len(word) + 1 for word in words])
    width = max(float(last[2] - first[0]), 0.01) / ends[-1]
    return [
        np.array([first[0] + (end - len(word) - 1) * width, first[1], first[0] + (end - 1) * width, first[3]])
        for word, end in zip(words, ends.tolist(), strict=True)
    ]
