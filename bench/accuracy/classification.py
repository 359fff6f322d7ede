"""Measure how often a document gets the right type: by rules alone, by the model alone, and by both.

Five folds: what comes from one vendor, one program or one layout (`source` of classification_types.csv, and
whatever has mostly the same words) is never in training and test. Vendors, stations and sellers that are set
aside are in neither. A type less likely than a half counts as
`other`. Intervals are 95 %, drawn by source. Real documents and those of docmill.demo are told apart. The
last figures hold out whole collections.

Usage: python -m bench classification --cache FOLDER [--errors] [--ship] [--set-aside]
"""

import pickle
import random
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.accuracy.trust import is_set_aside, load_invoices, load_orders, load_receipts
from bench.arguments import argument_parser
from bench.data.classification_documents import Labelled, load
from bench.data.shared import ROOT
from docmill.schemas.document_types import DEFINITIONS, TRAINED_TYPES, DocumentType, known_type
from docmill.training.document_types import (
    LabelledDocument,
    cross_validate,
    fit_temperature,
    generate_examples,
    train_shipped,
)
from docmill.training.scorers import assign_folds
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import probabilities
from docmill.understanding.page.conventions import conventions
from docmill.understanding.page.layout import Layout
from docmill.understanding.page.titles import TitleScore, title_scores
from docmill.understanding.types.classifier import SURE
from docmill.understanding.types.model import FEATURES, FILE, TypeModel, is_narrow, softmax, type_features

FOLDS = 5
DRAWS = 400
ALIKE = 0.6
"""Cosine of the sets of words from which on two documents are of one source."""
OTHER = TRAINED_TYPES.index("other")
_NULL = 2.0
"""The score of no known type, by the words alone."""
_NARROW = 1.6
"""The score of a narrow page for what a till prints."""
_WORD = re.compile(r"[^\W\d_]{2,}")


class Case(NamedTuple):
    """A labelled document with its features. ruled: the type that the rules give."""

    path: str
    collection: str
    example: LabelledDocument
    ruled: NDArray[np.float64]
    words: frozenset[str]


def rule_shares(
    candidates: Candidates, title_scores: Mapping[DocumentType, TitleScore]
) -> Mapping[DocumentType, float]:
    """Return the probability of each type by the weights of the words alone."""
    narrow = _NARROW * is_narrow(candidates.layout)
    scores = {
        name: title_scores[name].total + narrow * DEFINITIONS[name].is_till_paper for name in TRAINED_TYPES
    }
    scores["other"] = _NULL
    return dict(zip(scores, probabilities(list(scores.values()), null=0), strict=True))


def case(item: Labelled) -> Case | None:
    layout = Layout(item.document)
    if not layout.segments:
        return None
    candidates, phrases = Candidates(layout, conventions(layout)), title_scores(layout)
    document_type = known_type(item.document_type)
    if not DEFINITIONS[document_type].is_trained:
        document_type = DEFINITIONS[document_type].extends or "other"
    example = LabelledDocument(type_features(candidates, phrases), document_type, item.source)
    said = rule_shares(candidates, phrases)
    words = frozenset(_WORD.findall(" ".join(segment.text for segment in layout.segments).casefold()))
    return Case(item.path, item.collection, example, np.array([said[kind] for kind in TRAINED_TYPES]), words)


def sources(cases: Sequence[Case]) -> list[str]:
    """Return each document's source: the vendor of a receipt; one for others with mostly the same words."""
    parent: dict[str, str] = {item.example.source: item.example.source for item in cases}

    def root(name: str) -> str:
        while parent[name] != name:
            name = parent[name]
        return name

    some = [item for item in cases if item.collection != "sroie"]
    place = {word: index for index, word in enumerate(sorted({word for item in some for word in item.words}))}
    marks = np.zeros((len(some), len(place)), np.float32)
    for row, item in enumerate(some):
        marks[row, [place[word] for word in item.words]] = 1
    marks /= np.linalg.norm(marks, axis=1, keepdims=True) + 1e-9
    alike = np.argwhere(np.triu(marks @ marks.T, 1) > ALIKE)
    for first, second in alike.tolist():
        parent[root(some[first].example.source)] = root(some[second].example.source)
    return [root(item.example.source) for item in cases]


def likeliest_types(found: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the most probable type of each row, or `other` where none reaches the threshold."""
    return np.where(found.max(axis=1) >= SURE, found.argmax(axis=1), OTHER)


def f1s(truth: NDArray[np.int64], said: NDArray[np.int64]) -> list[float]:
    """Return the F1 of each type that occurs."""
    result: list[float] = []
    for kind in range(len(TRAINED_TYPES)):
        right = int(((truth == kind) & (said == kind)).sum())
        count = int((truth == kind).sum() + (said == kind).sum())
        if (truth == kind).any():
            result.append(2 * right / count)
    return result


def interval(truth: NDArray[np.int64], said: NDArray[np.int64], groups: Sequence[str]) -> tuple[float, float]:
    """Return the 95 % interval of macro-F1, by drawing sources."""
    by_group: dict[str, list[int]] = defaultdict(list)
    for index, group in enumerate(groups):
        by_group[group].append(index)
    every = list(by_group.values())
    draw = random.Random(0)
    found: list[float] = []
    for _ in range(DRAWS):
        indices = [index for group in draw.choices(every, k=len(every)) for index in group]
        found.append(float(np.mean(f1s(truth[indices], said[indices]))))
    found.sort()
    return found[DRAWS // 40], found[-DRAWS // 40]


def show(name: str, truth: NDArray[np.int64], said: NDArray[np.int64], groups: Sequence[str]) -> None:
    low, high = interval(truth, said, groups)
    print(
        f"{name:34} n={len(truth)} from {len(set(groups))} sources: macro-F1 {np.mean(f1s(truth, said)):.3f}"
        f" (95 %: {low:.3f}-{high:.3f}), accuracy {(truth == said).mean():.3f}",
        flush=True,
    )


def show_each(truth: NDArray[np.int64], said: NDArray[np.int64], groups: Sequence[str]) -> None:
    """Print the figures of every type and the confusions between types."""
    for index, kind in enumerate(TRAINED_TYPES):
        own = truth == index
        if not own.any():
            continue
        right = int((own & (said == index)).sum())
        by = len({group for group, mine in zip(groups, own, strict=True) if mine})
        others: list[int] = said[own & (said != index)].tolist()
        taken = Counter(TRAINED_TYPES[item] for item in others)
        print(
            f"  {kind:15} n={own.sum():4} from {by:3} sources:"
            f" precision {right / max(1, (said == index).sum()):.3f},"
            f" recall {right / own.sum():.3f},"
            f" F1 {2 * right / (own.sum() + (said == index).sum()):.3f}"
            f" {dict(taken) or ''}",
            flush=True,
        )


def show_confidence(found: NDArray[np.float64], truth: NDArray[np.int64]) -> None:
    best = found.max(axis=1)
    right = found.argmax(axis=1) == truth
    bins = np.minimum((best * 15).astype(int), 14)
    ece = sum(
        abs(best[bins == item].mean() - right[bins == item].mean()) * (bins == item).mean()
        for item in set(bins.tolist())
    )
    unsure = best < SURE
    print(
        f"  confidence: ECE {ece:.3f}; below {SURE}: {unsure.sum()} of {len(best)},"
        f" of which {(~right[unsure]).sum()} would be wrong",
        flush=True,
    )


def model_scores(model: TypeModel, cases: Sequence[Case]) -> NDArray[np.float64]:
    return model.trees.scores(np.vstack([item.example.row for item in cases]))


def columns(*, words: bool) -> NDArray[np.bool_]:
    """Return the features that a model may use; without `words`, none of the rules' phrases."""
    ruled = tuple(f"{kind} " for kind in TRAINED_TYPES)
    return np.array(
        [words or not (name.startswith(ruled) or name in {"lead", "order_of_words"}) for name in FEATURES]
    )


def prepared_cases(cache: Path, *, fresh: bool, kept_only: bool) -> list[Case]:
    kept = cache / "cases.pickle"
    if kept.exists() and not fresh:
        return pickle.loads(kept.read_bytes())  # noqa: S301 - our own file
    found = [item for labelled in load(cache, kept_only=kept_only) if (item := case(labelled)) is not None]
    kept.write_bytes(pickle.dumps(found))
    return found


def collections_unseen(cases: Sequence[Case], invented: Sequence[LabelledDocument]) -> None:
    """Measure each collection by a model that was trained on the others."""
    names = sorted({item.collection for item in cases})
    examples = [item.example for item in cases]
    scores = cross_validate(examples, [names.index(item.collection) for item in cases], invented)
    truth = np.array([TRAINED_TYPES.index(item.document_type) for item in examples])
    said = likeliest_types(softmax(scores, 1))
    for name in names:
        own = np.array([item.collection == name for item in cases])
        wrong = Counter(
            f"{TRAINED_TYPES[a]} as {TRAINED_TYPES[b]}"
            for a, b in zip(truth[own].tolist(), said[own].tolist(), strict=True)
            if a != b
        )
        print(
            f"  {name:12} n={own.sum():4} right {(truth == said)[own].mean():.3f} {dict(wrong) or ''}",
            flush=True,
        )


def report(cases: Sequence[Case], found: Mapping[str, NDArray[np.float64]], groups: Sequence[str]) -> None:
    truth = np.array([TRAINED_TYPES.index(item.example.document_type) for item in cases])
    made = np.array([item.collection == "samples" for item in cases])
    for part, own in (("real", ~made), ("samples", made), ("all", np.ones_like(made))):
        some = [group for group, mine in zip(groups, own, strict=True) if mine]
        if not some:
            continue
        for name, scores in found.items():
            show(f"{part}, {name}", truth[own], likeliest_types(scores[own]), some)
        show_each(truth[own], likeliest_types(found["both"][own]), some)
        show_confidence(found["both"][own], truth[own])


def set_aside_names() -> frozenset[str]:
    """Return the names, without their suffix, of the files that are set aside."""
    groups = (load().groups for load in (load_receipts, load_orders, load_invoices))
    return frozenset(
        Path(name).stem for of_files in groups for name, group in of_files.items() if is_set_aside(group)
    )


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--cache", type=Path, required=True, help="where readings are kept")
    parser.add_argument("--fresh", action="store_true", help="look at every document anew")
    parser.add_argument("--kept-only", action="store_true", help="leave out what is not in the cache")
    parser.add_argument("--errors", action="store_true")
    parser.add_argument("--ship", action="store_true", help="write the model that is shipped")
    parser.add_argument("--set-aside", action="store_true", help="score the model on what is set aside, too")
    arguments = parser.parse_args()
    every = prepared_cases(arguments.cache, fresh=arguments.fresh, kept_only=arguments.kept_only)
    names = set_aside_names()
    cases = [item for item in every if Path(item.path).stem not in names]
    groups = sources(cases)
    examples = [item.example._replace(source=group) for item, group in zip(cases, groups, strict=True)]
    invented = generate_examples()
    fold_of = assign_folds({str(index): group for index, group in enumerate(groups)}, FOLDS, seed=0)
    own = [fold_of[str(index)] for index in range(len(cases))]
    scores = cross_validate(examples, own, invented)
    bare = cross_validate(examples, own, invented, columns=columns(words=False))
    found = {
        "rules": np.vstack([item.ruled for item in cases]),
        "looks and labels": softmax(bare, fit_temperature(bare, examples)),
        "both": softmax(scores, fit_temperature(scores, examples)),
    }
    report(cases, found, groups)
    print("collections unseen")
    collections_unseen(cases, invented)
    if arguments.errors:
        for item, row in zip(cases, found["both"], strict=True):
            kind = TRAINED_TYPES[int(row.argmax())]
            if kind != item.example.document_type:
                print(f"{item.path}: {item.example.document_type} as {kind} {row.max():.2f}")
    model = train_shipped(examples, invented, scores)
    if arguments.set_aside:
        aside = [item for item in every if Path(item.path).stem in names]
        print("set aside")
        report(aside, {"both": softmax(model_scores(model, aside), model.temperature)}, sources(aside))
    content = model.dumps()
    print(f"{len(content)} bytes, temperature {model.temperature:.2f}")
    if arguments.ship:
        (ROOT / "src/docmill/understanding/types" / FILE).write_bytes(content)


if __name__ == "__main__":
    main()
