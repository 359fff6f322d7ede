"""Variations of labelled pages: other values of the same form, misread and missing words, moved blocks.

Each page becomes hundreds. A variation depends on the page, the pool of values and the seed alone.
"""

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from docmill.training.simulated_ocr import misread
from docmill.understanding.page_model.seen import LABEL, NONE
from tools.page_model.samples import Sample
from tools.page_model.swaps import (
    ValuePool,
    Word,
    change_codes,
    change_dates,
    multiply_amounts,
    stretches,
    swap_texts,
    words_of,
)

_NOISE = (0.0, 0.0, 0.0, 0.003, 0.01, 0.03)
"""Shares of misread characters."""
_GLUED = (0.0, 0.0, 0.0, 0.02, 0.1)
"""Shares of the spaces between words that are lost."""
_DROPPED = (0.0, 0.0, 0.01, 0.03)
"""Shares of the words outside values that are missing."""
_WITHOUT_VALUE = 0.06
"""Share of the values that are missing, with their labels."""
_UPPER_CASE, _SWAPPED_BLOCKS = 0.07, 0.25
_BLOCK_GAP = 0.9
"""Heights of print between lines from which on they are blocks of their own."""


def vary(sample: Sample, pool: ValuePool, seed: int) -> Sample:
    """One variation of a page. Its `values` are empty, since other ones are printed on it."""
    draw = random.Random(f"{seed} {sample.key}")
    words = swap_texts(words_of(sample), sample, pool, draw)
    multiply_amounts(words, draw)
    change_dates(words, draw)
    change_codes(words, draw)
    words = _drop_words(words, draw)
    words = _move_blocks(words, draw)
    words = _recognise(words, draw)
    return _placed(replace(sample, values={}), words, draw)


def read_again(sample: Sample, seed: int) -> Sample:
    """The page as another recognition of it might read it: misread and joined words, other edges of boxes."""
    draw = random.Random(f"{seed} {sample.key}")
    return _placed(sample, _recognise(words_of(sample), draw), draw)


def _drop_words(words: list[Word], draw: random.Random) -> list[Word]:
    """Leave out some words, and some values with their labels. A page keeps at least one word."""
    missing = {stretch[0].role for stretch in stretches(words) if draw.random() < _WITHOUT_VALUE}
    missing |= {f"{LABEL}{role}" for role in missing}
    share = draw.choice(_DROPPED)
    kept = [
        word
        for word in words
        if word.role not in missing and (word.role not in {NONE, None} or draw.random() >= share)
    ]
    return kept or words


def _move_blocks(words: list[Word], draw: random.Random) -> list[Word]:
    """Change the gaps between lines and blocks, and sometimes the order of two blocks."""
    lines = [list(group) for _, group in groupby(words, key=lambda word: word.line)]
    tops = [min(word.box[1] for word in line) for line in lines]
    bottoms = [max(word.box[3] for word in line) for line in lines]
    height = float(np.median([bottom - top for top, bottom in zip(tops, bottoms, strict=True)]))
    blocks: list[list[int]] = [[0]]
    for index in range(1, len(lines)):
        if tops[index] - bottoms[index - 1] > _BLOCK_GAP * height:
            blocks.append([])
        blocks[-1].append(index)
    if len(blocks) > 2 and draw.random() < _SWAPPED_BLOCKS:  # noqa: PLR2004 - the first and last stay
        index = draw.randrange(len(blocks) - 1)
        blocks[index : index + 2] = [blocks[index + 1], blocks[index]]
    stretch, between = draw.uniform(0.85, 1.3), draw.uniform(0.4, 2.0)
    moved: list[Word] = []
    bottom = tops[0] * draw.uniform(0.2, 1.5)
    number = 0
    for block in blocks:
        shift_x = draw.gauss(0, 0.01)
        for position, index in enumerate(block):
            gap = tops[index] - bottoms[index - 1] if position else height
            top = bottom + (gap * stretch if position else between * height)
            for word in lines[index]:
                left, upper, right, lower = word.box
                shift = top - tops[index]
                word.box = (left + shift_x, upper + shift, right + shift_x, lower + shift)
                word.line = number
            moved.extend(lines[index])
            bottom = top + bottoms[index] - tops[index]
            number += 1
    return moved


def _recognise(words: Sequence[Word], draw: random.Random) -> list[Word]:
    """Misread characters, and join words whose space is lost."""
    noise, glued = draw.choice(_NOISE), draw.choice(_GLUED)
    is_upper = draw.random() < _UPPER_CASE
    read: list[Word] = []
    for word in words:
        text = misread(word.text.upper() if is_upper else word.text, draw, noise) if noise else word.text
        if not text:
            continue
        word.text = text.upper() if is_upper else text
        last = read[-1] if read else None
        if last is not None and draw.random() < glued and _may_be_joined(last, word):
            last.text += word.text
            last.box = (
                last.box[0],
                min(last.box[1], word.box[1]),
                word.box[2],
                max(last.box[3], word.box[3]),
            )
            if last.role != word.role:  # a label and its value are the value
                last.role, last.goes_on = word.role, word.goes_on
        else:
            read.append(word)
    return read or list(words)


def _may_be_joined(word: Word, following: Word) -> bool:
    """True for neighbours of one value, or a label and what follows it."""
    height = word.box[3] - word.box[1]
    is_near = word.line == following.line and following.box[0] - word.box[2] < height
    is_one = word.role == following.role and (following.goes_on or word.role in {NONE, None})
    is_label = word.role is not None and f"{LABEL}{following.role}" == word.role
    return is_near and (is_one or is_label)


def _placed(sample: Sample, words: Sequence[Word], draw: random.Random) -> Sample:
    """The sample with these words, all boxes scaled, slanted and jittered."""
    numbers = np.random.default_rng(draw.getrandbits(32))
    boxes = np.array([word.box for word in words], np.float32)
    scale, left = draw.uniform(0.75, 1.1), draw.uniform(-0.02, 0.12)
    slant = draw.gauss(0, 0.008)
    boxes *= scale
    boxes[:, [0, 2]] += left
    boxes[:, [1, 3]] += slant * boxes[:, [0]]
    heights = boxes[:, 3:] - boxes[:, 1:2]
    boxes += numbers.normal(0, draw.choice((0.0, 0.03, 0.08)), boxes.shape) * heights
    boxes[:, [0, 2]] = boxes[:, [0, 2]].clip(0, 1)
    boxes[:, [1, 3]] -= min(0.0, float(boxes[:, 1].min()))
    boxes[:, 2:] = np.maximum(boxes[:, 2:], boxes[:, :2])
    lines = np.array([word.line for word in words], np.int32)
    return replace(
        sample,
        texts=[word.text for word in words],
        boxes=boxes,
        lines=lines,
        roles=[word.role for word in words],
        goes_on=[word.goes_on for word in words],
    )
