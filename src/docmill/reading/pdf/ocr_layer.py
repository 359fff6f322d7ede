"""Invisible OCR layers under scans: a layer is believed, or the page is recognised again.

A layer is believed as it is when its words are words (`texts_quality`) and cover nearly all letters of the
picture. Else the page is recognised as well, and the reading with more believable text wins.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import Page, Words
from docmill.reading.pdf import text_runs
from docmill.reading.pdf.form_fields import CHECKED, UNCHECKED
from docmill.reading.pdf.page_objects import Boxes, letter_centres, render_gray
from docmill.reading.pdf.pdf_file import PdfPage
from docmill.reading.pdf.text_layer import INSIDE, Layer, page_from_layer, read_layer
from docmill.reading.pdf.text_runs import NO_RUNS, TextRuns, covered_share
from docmill.reading.text.quality import texts_quality

SAMPLE = 25
"""Number of words whose sense is checked."""
NONSENSE = 0.4
"""Printed text that is no more believable than this is recognised again."""
REPEATED = re.compile(r"(.)\1+")
BELIEVABLE = 0.995
"""Least believability of a good layer."""
UNCOVERED = 0.1
"""Share of letter-like spots that a good layer may miss: rules, logos and signatures are among them."""
TOUCHED = 0.3
"""Overlap, as a share of a recognised word, from which on a word of the file is the same one."""


def read_sound_layer(page: PdfPage, number: int) -> Layer:
    """Read the page's text layer, with text that makes no sense set apart as doubtful.

    Fonts may show other letters than the file stores.
    """
    layer = read_layer(page, number)
    texts = [text for text in layer.upright.texts if text not in (CHECKED, UNCHECKED)]
    texts = texts[:: max(1, len(texts) // SAMPLE)]
    if layer.missing == "everything" or not texts or believability(texts) > NONSENSE:
        return layer
    doubtful = text_runs.concatenate_runs([layer.upright, *layer.sideways])
    return layer._replace(upright=NO_RUNS, sideways=(), scanned=doubtful, missing="everything")


def text_page(page: PdfPage, number: int) -> Page | None:
    """The page by its own text, or None if it must be recognised, too."""
    layer = read_sound_layer(page, number)
    quality = 1.0
    if layer.scanned.texts:
        layer, quality = judge_layer(page, layer)
    return page_from_layer(layer, quality=quality) if layer.missing == "nothing" else None


def judge_layer(page: PdfPage, layer: Layer) -> tuple[Layer, float]:
    """Judge the old OCR layer: nothing is missing if it is good; also the quality of its text."""
    words = text_runs.arrange_runs(layer.scanned, layer.size)
    quality = believability(words.texts)
    if quality < BELIEVABLE:
        return layer, quality
    gray = render_gray(page, rotation=layer.rotation)
    height, width = gray.shape
    covered = np.zeros((height, width), np.bool_)
    for x0, y0, x1, y1 in np.rint(words.boxes * np.tile([width, height], 2)).astype(int).tolist():
        covered[y0 : y1 + 1, x0 : x1 + 1] = True
    spots = letter_centres(gray)
    missed = float(1 - covered[spots[:, 1], spots[:, 0]].mean()) if len(spots) else 0.0
    if missed > UNCOVERED:
        return layer, quality
    return layer._replace(missing="nothing"), min(quality, 1 - missed)


def believability(texts: Sequence[str]) -> float:
    """`texts_quality`, and less where most of what is printed is neither letter nor digit."""
    quality = texts_quality(texts)
    signs = "".join(REPEATED.sub(r"\1", text) for text in texts)
    share = sum(map(str.isalnum, signs)) / max(1, len(signs))
    return quality if share > NONSENSE else quality * share


def merge_reading(layer: Layer, seen: Page) -> Page:
    """Merge the file's own text with the recognised page, without anything twice.

    Certain text of the file stays. An old reading stays if it has more believable text, measured as
    characters times their believability squared: few good words are worth more than many bad ones.
    """
    if seen.source == "none":
        has_words = layer.upright.texts or layer.sideways or layer.scanned.texts
        return replace(page_from_layer(layer), problem=seen.problem) if has_words else seen
    turn = (seen.rotation - layer.rotation) % 360
    sure = text_runs.concatenate_runs([layer.upright, *layer.sideways]).turned(layer.size, turn)
    old = layer.scanned.turned(layer.size, turn)
    if not sure.texts and not old.texts:
        return seen
    size = layer.size[::-1] if turn % 180 else layer.size
    if layer.missing == "gaps":
        runs = text_runs.runs_of_words(seen.words, size)
        gaps = text_runs.turn_boxes(layer.gaps, layer.size, turn)
        in_gaps = runs.only(np.flatnonzero(covered_share(runs.boxes, gaps) > INSIDE).tolist())
        return _combined(seen, sure, in_gaps, size)
    words = text_runs.arrange_runs(old, size)
    if believable_amount(words) > believable_amount(seen.words):
        seen = replace(seen, words=words, source="text", quality=believability(words.texts), engine=None)
    if not sure.texts:
        return seen
    filled = text_runs.turn_boxes(layer.filled, layer.size, turn)
    return _combined(seen, sure, text_runs.runs_of_words(seen.words, size), size, filled=filled)


def believable_amount(words: Words) -> float:
    """Amount of believable text: characters times their believability squared."""
    return sum(map(len, words.texts)) * believability(words.texts) ** 2


def _combined(
    seen: Page,
    sure: TextRuns,
    recognised: TextRuns,
    size: NDArray[np.float32],
    filled: Boxes | None = None,
) -> Page:
    """Combine the file's own words with recognised ones that stand elsewhere."""
    taken = sure.boxes if filled is None else np.concatenate([sure.boxes, filled])
    new = recognised.only(np.flatnonzero(covered_share(recognised.boxes, taken) < TOUCHED).tolist())
    both = text_runs.concatenate_runs([sure, new])
    share = len(sure.texts) / max(1, len(both.texts))
    return replace(
        seen,
        words=text_runs.arrange_runs(both, size),
        source="text" if share > 1 - INSIDE else seen.source,
        quality=share + (1 - share) * seen.quality,
    )
