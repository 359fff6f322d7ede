"""The release figures of README are those that were kept."""

from pathlib import Path
from typing import Any

import pytest
from bench.accuracy.release_figures import BEGIN, END, KEPT, README, keep, load, release_table, with_table

SHARE = {"count": 3, "of": 12, "share": 0.25, "interval": [0.0889, 0.5323]}
FIGURES: dict[str, Any] = {
    "documents": 16,
    "ready": {"count": 12, "of": 16, "share": 0.75, "interval": [0.505, 0.898]},
    "ready_wrong_vital": {"count": 0, "of": 12, "share": 0.0, "interval": [0.0, 0.2425]},
    "ready_wrong_header": SHARE,
    "sure_wrong": {"count": 0, "of": 0, "share": None, "interval": None},
    "ece": 0.0314,
    "values_curve": [],
}


def test_the_table_of_the_readme_is_that_of_the_kept_figures() -> None:
    readme = README.read_text(encoding="utf-8")

    assert with_table(readme, release_table(load(KEPT))) == readme


def test_both_halves_of_a_collection_stand_side_by_side(tmp_path: Path) -> None:
    kept = tmp_path / "trust.json"
    keep(kept, "receipts", FIGURES, is_set_aside=True)
    keep(kept, "receipts", {**FIGURES, "documents": 85}, is_set_aside=False)

    rows = release_table(load(kept)).splitlines()[2:]

    assert rows[0].startswith("| Receipts | looked at, 85 | 75.0 % (50-90) |")
    assert rows[1] == (
        "|  | set aside, 16 | 75.0 % (50-90) | 0 of 12, 0.0 % (0-24) | 3 of 12, 25.0 % (9-53) |  | 0.031 |"
    )


def test_figures_that_are_measured_again_replace_the_earlier_ones(tmp_path: Path) -> None:
    kept = tmp_path / "trust.json"
    keep(kept, "photos", FIGURES, is_set_aside=False)
    keep(kept, "photos", {**FIGURES, "documents": 179}, is_set_aside=False)

    assert load(kept)["photos"]["looked at"]["documents"] == 179


def test_only_what_stands_between_the_marks_is_replaced() -> None:
    readme = f"# docmill\n{BEGIN}\nold\n{END}\n## Licence\n"

    assert with_table(readme, "new") == f"# docmill\n{BEGIN}\n\nnew\n\n{END}\n## Licence\n"
    with pytest.raises(ValueError, match="has no marks"):
        with_table("# docmill\n", "new")
