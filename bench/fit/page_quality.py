"""Fit `reading.text.quality.WEIGHTS`, and measure how well quality predicts the share of words read right.

python -m bench receipt_ocr --degraded --hard --cache FOLDER
python -m bench page_quality FOLDER

The share is word F1 of a page. Every fifth of the vendors is predicted by weights fitted on the others,
with all their degraded copies. Error: expected calibration error over ten ranges of quality.
"""

import json
import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.accuracy.receipt_ocr import Read, matches
from bench.arguments import argument_parser
from bench.data.receipts import SROIE
from docmill.model.document import Words
from docmill.reading.text.quality import WEIGHTS, features

FOLDS = 5
RIDGE = 0.1
Floats = NDArray[np.float64]


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("cache", type=Path)
    rows: list[tuple[float, ...]] = []
    shares: list[float] = []
    vendors: list[str] = []
    variants: list[str] = []
    for path in sorted(parser.parse_args().cache.glob("*.json")):
        variant, name = path.stem.rsplit("-", 1)
        found: Read = json.loads(path.read_text())
        if found["words"]:
            right, all_words = matches(found["words"], name)
            rows.append((1.0, *features(words_of(found))))
            shares.append(2 * right / all_words)
            vendors.append(vendor(name))
            variants.append(variant)
    report(np.array(rows), np.array(shares), vendors, np.array(variants))


def words_of(found: Read) -> Words:
    count = len(found["words"])
    numbers = np.zeros(count, np.int32)
    confidences = np.array(found["confidences"], np.float32)
    return Words(found["words"], np.zeros((count, 4), np.float32), confidences, numbers, numbers)


def vendor(name: str) -> str:
    company = json.loads((SROIE / f"key/{name}.json").read_text())["company"]
    return re.sub(r"[^A-Z]", "", company.upper())[:12]


def report(rows: Floats, shares: Floats, vendors: list[str], variants: NDArray[np.str_]) -> None:
    known = sorted(set(vendors))
    fold = np.array([known.index(bucket) % FOLDS for bucket in vendors])
    predicted = np.zeros(len(shares))
    for held_out in range(FOLDS):
        weights = fit(rows[fold != held_out], shares[fold != held_out])
        predicted[fold == held_out] = 1 / (1 + np.exp(-rows[fold == held_out] @ weights))
    print(f"{len(shares)} pages of {len(known)} vendors, of which each fifth is held out in turn")
    print(f"error {error(predicted, shares):.3f}, correlation {np.corrcoef(predicted, shares)[0, 1]:.3f}")
    for low, high in ((0, 0.5), (0.5, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 1)):
        inside = (predicted >= low) & (predicted < high)
        if inside.any():
            print(
                f"quality {low:.1f}-{high:.1f}: {inside.sum():3} pages, right {shares[inside].mean():.3f}, "
                f"predicted {predicted[inside].mean():.3f}"
            )
    for variant in dict.fromkeys(variants.tolist()):
        of_it = variants == variant
        print(f"{variant:12} right {shares[of_it].mean():.3f}, predicted {predicted[of_it].mean():.3f}")
    fitted = tuple(round(float(weight), 3) for weight in fit(rows, shares))
    print("fitted on all:", fitted, "in use:", WEIGHTS)


def fit(rows: Floats, shares: Floats) -> Floats:
    """Logistic regression of shares by Newton's method; a small ridge on all weights but the constant."""
    weights = np.zeros(rows.shape[1])
    ridge = RIDGE * np.diag([0.0, *[1.0] * (rows.shape[1] - 1)])
    for _ in range(50):
        given = 1 / (1 + np.exp(-rows @ weights))
        gradient = rows.T @ (given - shares) + ridge @ weights
        curvature = (rows * (given * (1 - given))[:, None]).T @ rows + ridge
        weights = weights - np.linalg.solve(curvature + 1e-9 * np.eye(len(weights)), gradient)
    return weights


def error(predicted: Floats, shares: Floats) -> float:
    bins = np.clip((predicted * 10).astype(int), 0, 9)
    return float(
        sum(
            (bins == bucket).mean() * abs(predicted[bins == bucket].mean() - shares[bins == bucket].mean())
            for bucket in np.unique(bins)
        )
    )


if __name__ == "__main__":
    main()
