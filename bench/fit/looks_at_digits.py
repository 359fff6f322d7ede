"""Count how often several looks at a line read its digits alike, where its reading is right and where not.

python -m bench looks_at_digits
python -m bench looks_at_digits --lines 500

The changes of log-odds in `understanding/digit_looks.py` are the logarithms of the ratios. Lines of receipts
(sroie, without the vendors that are set aside) are reduced, blurred, made noisy and compressed, since they
are read too well as they are. Lines whose reading has more or fewer digits than were printed are left out.
"""

import csv
import math
from collections import Counter
from collections.abc import Iterator

import cv2
import numpy as np
from numpy.typing import NDArray

from bench.accuracy.trust import is_set_aside, load_receipts
from bench.arguments import argument_parser
from bench.data.receipts import SROIE, names_with_pictures
from docmill.reading.digit_looks import lines_in
from docmill.reading.ocr.rapid import rapid_engine
from docmill.understanding.digit_looks import change_of, digits_of

HEIGHTS_PX = (9, 11, 13, 16, 30)
"""Of lines, after they are reduced."""
FEWEST_DIGITS = 3
_MARGIN = 0.25
_SEED = 7


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--lines", type=int, default=1000)
    arguments = parser.parse_args()
    counts = {True: Counter[float](), False: Counter[float]()}
    for is_right, change in outcomes(arguments.lines):
        counts[is_right][change] += 1
    right, wrong = (counts[is_right].total() for is_right in (True, False))
    print(f"{right} lines read rightly, {wrong} wrongly")
    for change in sorted(counts[True] | counts[False]):
        shares = (counts[True][change] + 0.5) / (right + 1), (counts[False][change] + 0.5) / (wrong + 1)
        ratio = math.log(shares[0] / shares[1])
        print(f"{change:5.2f}: {shares[0]:.3f} of right, {shares[1]:.3f} of wrong, log ratio {ratio:.2f}")


def outcomes(most: int) -> Iterator[tuple[bool, float]]:
    """Yield of each line whether its first reading is right, and the change by the looks at it."""
    engine, draw, count = rapid_engine(), np.random.default_rng(_SEED), 0
    for crop, text in lines(draw):
        height, width = crop.shape[:2]
        inner = height * _MARGIN / (1 + 2 * _MARGIN)
        x0, y0, x1, y1 = inner, inner, width - inner, height - inner
        corners = np.array([(x0, y0), (x1, y0), (x1, y1), (x0, y1)], np.float32)
        first = engine.read_line_at(crop, corners)
        (looks,) = lines_in(crop, corners[None] / np.array([width, height], np.float32))
        digits = digits_of(first)
        if len(digits) == len(digits_of(text)):
            yield digits == digits_of(text), change_of(digits, looks)
            count += 1
        if count >= most:
            return


def lines(draw: np.random.Generator) -> Iterator[tuple[NDArray[np.uint8], str]]:
    """Yield pictures of lines with digits, as a bad photograph shows them, in RGB, and their texts."""
    groups = load_receipts().groups
    for name in names_with_pictures():
        if is_set_aside(groups.get(f"{name}.jpg", name)):
            continue
        picture = cv2.imread(str(SROIE / "img" / f"{name}.jpg"))
        with (SROIE / "box" / f"{name}.csv").open(encoding="utf-8", errors="replace", newline="") as file:
            rows = [row for row in csv.reader(file, quoting=csv.QUOTE_NONE) if len(row) > 8]
        for row in rows:
            text = ",".join(row[8:])
            xs, ys = [int(x) for x in row[:8:2]], [int(y) for y in row[1:8:2]]
            margin = round(_MARGIN * (max(ys) - min(ys)))
            top, left = max(0, min(ys) - margin), max(0, min(xs) - margin)
            line = None if picture is None else picture[top : max(ys) + margin, left : max(xs) + margin]
            if line is not None and line.size and len(digits_of(text)) >= FEWEST_DIGITS:
                yield np.ascontiguousarray(_worsen(np.asarray(line, np.uint8), draw)[:, :, ::-1]), text


def _worsen(line: NDArray[np.uint8], draw: np.random.Generator) -> NDArray[np.uint8]:
    scale = min(1.0, float(draw.choice(HEIGHTS_PX)) * (1 + 2 * _MARGIN) / line.shape[0])
    worse = np.asarray(cv2.resize(line, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA), np.uint8)
    if draw.random() < 0.5:
        worse = np.asarray(cv2.GaussianBlur(worse, (0, 0), float(draw.uniform(0.4, 0.9))), np.uint8)
    if draw.random() < 0.5:
        noise = draw.normal(0, draw.uniform(3, 14), worse.shape)
        worse = np.asarray(np.clip(worse + noise, 0, 255), np.uint8)
    quality = [cv2.IMWRITE_JPEG_QUALITY, int(draw.integers(35, 90))]
    return np.asarray(cv2.imdecode(cv2.imencode(".jpg", worse, quality)[1], cv2.IMREAD_COLOR), np.uint8)


if __name__ == "__main__":
    main()
