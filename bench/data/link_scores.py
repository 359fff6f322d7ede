"""The scorer of links between documents: what a matcher says of a tenant's documents, against the truth.

Copies of a document count as the document: a link with either is right, and is counted once.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from docmill.matching.outcome import Link, Matching, Relation
from docmill.training.linked_documents.truth import TrueLink, Truth

_Pair = frozenset[str]
_Key = tuple[str, str, Relation]


@dataclass
class Share:
    """Right answers among those given and among those that are true."""

    right: int = 0
    given: int = 0
    true: int = 0

    def add(self, given: Iterable[object], true: Iterable[object]) -> None:
        given, true = set(given), set(true)
        self.right += len(given & true)
        self.given += len(given)
        self.true += len(true)

    @property
    def precision(self) -> float:
        return self.right / self.given if self.given else 1.0

    @property
    def recall(self) -> float:
        return self.right / self.true if self.true else 1.0

    @property
    def f1(self) -> float:
        total = self.given + self.true
        return 2 * self.right / total if total else 1.0


@dataclass
class LinkScores:
    """Scores over the tenants that were added.

    pairs: automatic links, whatever their relation. decidable: those but of the payments whose link nobody
    can tell (`Truth.undecidable`); undecidable: the number of these links. first_ranks: automatic links and,
    where a record has none of a relation, its best suggestion. groups: those of the truth, and the clusters
    that equal them. candidates: links of any state. by_edit: of the true links that an edit touched, those
    that are automatic.
    false_by_decoy: automatic links between strangers by the kinds of decoys that they join.
    """

    pairs: Share = field(default_factory=Share)
    decidable: Share = field(default_factory=Share)
    first_ranks: Share = field(default_factory=Share)
    links: Share = field(default_factory=Share)
    candidates: Share = field(default_factory=Share)
    groups: Share = field(default_factory=Share)
    duplicates: Share = field(default_factory=Share)
    discrepancies: Share = field(default_factory=Share)
    by_relation: dict[str, Share] = field(default_factory=dict[str, Share])
    by_code: dict[str, Share] = field(default_factory=dict[str, Share])
    by_edit: dict[str, Share] = field(default_factory=dict[str, Share])
    false_by_relation: Counter[str] = field(default_factory=Counter[str])
    false_by_decoy: Counter[str] = field(default_factory=Counter[str])
    automatic: int = 0
    false_automatic: int = 0
    undecidable: int = 0

    def add(self, matching: Matching, truth: Truth) -> None:
        """Score one tenant's matching."""
        original = originals(truth.duplicates)
        true = {_key(link, original): link for link in truth.links}
        links = [link for link in matching.links if link.relation != "duplicate"]
        automatic = _keys((link for link in links if link.state == "automatic"), original)
        ranked = automatic | _keys(first_suggestions(links), original)
        self.pairs.add(map(_pair, automatic), map(_pair, true))
        doubtful = {original.get(second, second) for _, second in truth.undecidable}
        self.undecidable += len(truth.undecidable)
        self.decidable.add(
            *({_pair(key) for key in keys if key[1] not in doubtful} for keys in (automatic, true))
        )
        self.first_ranks.add(map(_pair, ranked), map(_pair, true))
        self.links.add(automatic, true)
        self.candidates.add(_keys(links, original), true)
        for relation in {key[2] for key in (*automatic, *true)}:
            share = self.by_relation.setdefault(relation, Share())
            share.add(*({key for key in keys if key[2] == relation} for keys in (automatic, true)))
        self._add_edits(true, automatic)
        self._add_duplicates(matching, truth)
        true_pairs = set(map(_pair, true))
        wrong = [key for key in automatic if _pair(key) not in true_pairs]
        self.false_by_relation.update(key[2] for key in wrong)
        self.false_by_decoy.update(_decoys_of(key, truth) for key in wrong)
        self.automatic += len(automatic)
        self.false_automatic += len(wrong)
        clusters = {frozenset(cluster) for cluster in matching.clusters if len(cluster) > 1}
        self.groups.add(clusters, truth.groups)
        self._add_discrepancies(matching, truth, original)

    def _add_edits(self, true: Mapping[_Key, TrueLink], automatic: set[_Key]) -> None:
        for key, link in true.items():
            for edit in link.edits or {"no edit"}:
                self.by_edit.setdefault(edit, Share()).add({key} & automatic, {key})

    def _add_duplicates(self, matching: Matching, truth: Truth) -> None:
        told = [link for link in matching.links if link.relation == "duplicate" and link.state == "automatic"]
        given = {frozenset((link.first_id, link.second_id)) for link in told}
        true = {frozenset((link.first_id, link.second_id)) for link in truth.duplicates}
        self.duplicates.add(given, true)
        self.automatic += len(given)
        self.false_automatic += len(given - true)
        self.false_by_relation.update(["duplicate"] * len(given - true))

    def _add_discrepancies(self, matching: Matching, truth: Truth, original: Mapping[str, str]) -> None:
        optional = {
            (each.code, original.get(each.record_id, each.record_id))
            for each in truth.discrepancies
            if each.is_optional
        }
        true = {
            (each.code, original.get(each.record_id, each.record_id), each.line)
            for each in truth.discrepancies
            if not each.is_optional
        }
        named = {
            (each.code, original.get(each.record_id, each.record_id), each.line)
            for each in matching.discrepancies
        }
        given = {key for key in named if key in true or key[:2] not in optional}
        self.discrepancies.add(given, true)
        for code in {key[0] for key in (*given, *true)}:
            share = self.by_code.setdefault(code, Share())
            share.add(*({key for key in keys if key[0] == code} for keys in (given, true)))


def originals(duplicates: Sequence[TrueLink]) -> dict[str, str]:
    """The first document of which each copy is one."""
    original: dict[str, str] = {}
    for duplicate in duplicates:
        original[duplicate.second_id] = original.get(duplicate.first_id, duplicate.first_id)
    return original


def first_suggestions(links: Sequence[Link]) -> list[Link]:
    """The best suggestion of each second record that has no automatic link of the relation."""
    settled = {(link.second_id, link.relation) for link in links if link.state == "automatic"}
    best: dict[tuple[str, str], Link] = {}
    for link in links:
        key = link.second_id, link.relation
        if (
            link.state == "suggested"
            and key not in settled
            and (key not in best or link.score > best[key].score)
        ):
            best[key] = link
    return list(best.values())


def _key(link: TrueLink | Link, original: Mapping[str, str]) -> _Key:
    first, second = (original.get(each, each) for each in (link.first_id, link.second_id))
    return first, second, link.relation


def _keys(links: Iterable[Link], original: Mapping[str, str]) -> set[_Key]:
    keys = (_key(link, original) for link in links)
    return {key for key in keys if key[0] != key[1]}


def _decoys_of(key: _Key, truth: Truth) -> str:
    """The kinds of decoys among the two records of a link."""
    return " and ".join(truth.decoys.get(each, "true record") for each in key[:2])


def _pair(key: _Key) -> _Pair:
    return frozenset(key[:2])


COLUMNS: Mapping[str, Callable[[LinkScores], str]] = {
    "pair F1": lambda scores: f"{scores.pairs.f1:.3f}",
    "without what nobody can tell": lambda scores: f"{scores.decidable.f1:.3f} ({scores.undecidable} links)",
    "with first suggestions": lambda scores: f"{scores.first_ranks.f1:.3f}",
    "precision": lambda scores: f"{scores.pairs.precision:.4f}",
    "automatic": lambda scores: f"{scores.links.recall:.3f}",
    "false of automatic": lambda scores: f"{scores.false_automatic} of {scores.automatic}",
    "candidates": lambda scores: f"{scores.candidates.recall:.3f}",
    "groups": lambda scores: f"{scores.groups.recall:.3f}",
    "duplicates F1": lambda scores: f"{scores.duplicates.f1:.3f}",
    "discrepancies F1": lambda scores: f"{scores.discrepancies.f1:.3f}",
}
"""The figures of a matcher, by the heading of their column."""
