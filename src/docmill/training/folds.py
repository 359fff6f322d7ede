"""Labelled receipts parted so that no vendor is on both sides."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence

from rapidfuzz import fuzz

from docmill.model.document import letters_and_digits

_SAME_NAME = 88
_SAME_ADDRESS = 90
_SHORTEST_ADDRESS = 10


def vendors(names: Mapping[str, str], addresses: Mapping[str, str]) -> dict[str, str]:
    """For each document the vendor it belongs to: names or addresses nearly alike are one vendor's.

    names, addresses: by document.
    """
    parent = {key: key for key in names}

    def root(key: str) -> str:
        while parent[key] != key:
            parent[key] = parent[parent[key]]
            key = parent[key]
        return key

    for texts, least, shortest in ((names, _SAME_NAME, 0), (addresses, _SAME_ADDRESS, _SHORTEST_ADDRESS)):
        first: dict[str, str] = {}
        for key, text in texts.items():
            letters = letters_and_digits(text)
            if len(letters) <= shortest:
                continue
            for other, owner in first.items():
                if fuzz.ratio(letters, other, score_cutoff=least) >= least:
                    parent[root(key)] = root(owner)
            first.setdefault(letters, key)
    return {key: root(key) for key in parent}


def folds(groups: Mapping[str, str], count: int, *, seed: int) -> dict[str, int]:
    """For each document its fold; a group stays together, and folds are about equally large."""
    sizes = list(Counter(groups.values()).items())
    random.Random(seed).shuffle(sizes)  # noqa: S311 - parts, not secrets
    sizes.sort(key=lambda size: -size[1])
    loads = [0] * count
    fold_of: dict[str, int] = {}
    for group, size in sizes:
        least = min(range(count), key=loads.__getitem__)
        fold_of[group] = least
        loads[least] += size
    return {key: fold_of[group] for key, group in groups.items()}


def shares(names: Sequence[str]) -> list[float]:
    """The weight of each document: a vendor with many counts more than one with few, but not by as much."""
    counts = Counter(names)
    return [counts[name] ** -0.5 for name in names]
