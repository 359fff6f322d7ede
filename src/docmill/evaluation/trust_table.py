"""The figures of trust as rows of texts, for the terminal and the page."""

from collections.abc import Iterator, Mapping
from typing import Any

from docmill.evaluation.trust_picture import THIS_FOLDER

_ERRORS = "silent_errors_per_100_ready"
_TRUST = {
    "ready": ("ready", "ready"),
    "ready_wrong_vital": ("ready with a wrong date or amount", "vital"),
    "ready_wrong_header": ("ready with any wrong field", "any"),
    "ready_wrong_item": ("ready with a wrong value in a list", "items"),
    _ERRORS: ("wrong fields in 100 ready ones", "errors"),
    "sure_wrong": ("wrong among values of 90 % and more", "sure"),
}
"""Meaning and heading of each figure, by its name."""
TRUST_HEADS = ("trust", "share", "95 %", "count", "of")
GROUP_HEADS = ("docs", *(short for _, short in _TRUST.values()), "ECE")
_FEWEST = 5
"""Documents or values of which a share says anything."""

FEW = f"few: fewer than {_FEWEST}, of which a share says nothing"
"""What the word in place of a share means, for a line below the tables."""

Groups = Mapping[str, Mapping[str, Any]]
"""The figures of each type or source, by its name."""


def trust_rows(trust: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the figures of all documents, under `TRUST_HEADS`."""
    for key, (meaning, _) in _TRUST.items():
        figure = trust["all"][key]
        per_cent = 1 if key == _ERRORS else 100
        bounds = "-".join(f"{per_cent * bound:.1f}" for bound in figure["interval"] or ())
        yield meaning, _share(key, figure), bounds, str(figure["count"]), str(figure["of"])
    if trust["all"]["ece"] is not None:
        yield "calibration error (ECE)", f"{trust['all']['ece']:.3f}", "", "", ""


def several_groups(trust: Mapping[str, Any]) -> Iterator[tuple[str, Groups]]:
    """Yield the figures by type and by source, each with its heading, where there are several."""
    for heading, kind in (("type", "types"), ("source", "sources")):
        if len(trust[kind]) > 1:
            yield heading, trust[kind]


def group_rows(groups: Groups) -> Iterator[tuple[str, ...]]:
    """Yield the figures of each type or source: its name, and those of `GROUP_HEADS`."""
    for name, figures in groups.items():
        texts = [_share(key, figures[key]) for key in _TRUST]
        ece = "" if figures["ece"] is None else f"{figures['ece']:.3f}"
        yield THIS_FOLDER if name == "." else name, str(figures["documents"]), *texts, ece


def _share(key: str, figure: Mapping[str, Any]) -> str:
    share = figure["share"]
    if share is None:
        return ""
    return "few" if figure["of"] < _FEWEST else f"{(1 if key == _ERRORS else 100) * share:.1f}"
