"""Clusters: the records that links connect."""

from collections import defaultdict
from collections.abc import Iterable


class DisjointSets:
    """Union-find over ids, with path halving and union by size."""

    def __init__(self, ids: Iterable[str] = ()) -> None:
        self._parent = {each: each for each in ids}
        self._size = dict.fromkeys(self._parent, 1)

    def root(self, each: str) -> str:
        """The id that stands for the set of `each`, which becomes a set of its own if it is new."""
        parent = self._parent
        if each not in parent:
            parent[each] = each
            self._size[each] = 1
        while parent[each] != each:
            parent[each] = parent[parent[each]]
            each = parent[each]
        return each

    def join(self, one: str, other: str) -> None:
        """Make the sets of both one."""
        left, right = self.root(one), self.root(other)
        if left == right:
            return
        if self._size[left] < self._size[right]:
            left, right = right, left
        self._parent[right] = left
        self._size[left] += self._size[right]

    def sets(self) -> list[tuple[str, ...]]:
        """The sets, each sorted, in the order of their first ids."""
        members: defaultdict[str, list[str]] = defaultdict(list)
        for each in self._parent:
            members[self.root(each)].append(each)
        return sorted(tuple(sorted(each)) for each in members.values())


def clusters_of(links: Iterable[tuple[str, str]]) -> list[tuple[str, ...]]:
    """The connected components with two or more ids, each sorted."""
    sets = DisjointSets()
    for one, other in links:
        sets.join(one, other)
    return sets.sets()
