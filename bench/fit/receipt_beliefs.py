"""Fit the belief in what is read of receipts in `beliefs.json`, by source left out.

python -m bench receipt_beliefs --keep FOLDER --world READINGS [--write FILE]

Two sources are papers of a kind that their model has not seen: made-up receipts of many countries by a model
of the real ones of one country alone, and those by a model of made-up ones alone. The other two are of unseen
vendors and papers of a kind that it knows: real ones out of fold, and new made-up ones by the shipped model.
The former weigh less: the shipped model knows both kinds. The fifth are scanned receipts of many countries by
models that were trained without their vendors. Photographs are no source, nor is what is set aside. Trained
models are kept in the folder.

For each source: the calibration error, the share of values at a belief of .9 or more, how many of these are
wrong, and the area under risk and coverage (AURC), by the share among rivals and by the model that was fitted
to the other sources.
"""

import json
import pickle
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bench.accuracy.trust import is_set_aside
from bench.arguments import argument_parser
from bench.data import world
from bench.data.receipts import examples, keys, vendor_groups
from bench.fit.fitted_belief import by_key, fit, show
from bench.fit.whole_papers import Row
from docmill.training.generated_receipts import generate_receipts
from docmill.training.receipts import LabelledReceipt, Prepared, is_right, prepare, train_model, weigh
from docmill.understanding.belief.facts import facts_of
from docmill.understanding.belief.model import BeliefModel
from docmill.understanding.receipts.extractor import BELIEVED, learned_findings
from docmill.understanding.receipts.model import FIELDS, PATHS, ReceiptModel, shipped
from docmill.understanding.receipts.text_facts import text_facts

FOLDS = 3
TRAINED, TRAINED_SEED = 1000, 11
"""The made-up receipts that a model is trained on, as the shipped one was."""
UNKNOWN_WEIGHT = 0.3
"""Weight of an answer on a paper of a kind that its model has not seen, beside one that it knows."""
NEW, NEW_SEED = 900, 424242
_Kept = TypeVar("_Kept")


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--keep", type=Path, required=True, help="folder of trained models")
    parser.add_argument("--world", type=Path, required=True, help="kept readings of ../shared/data/world")
    parser.add_argument("--write", type=Path, help="where the weights go")
    arguments = parser.parse_args()
    arguments.keep.mkdir(parents=True, exist_ok=True)
    rows = list(collect(arguments.keep, arguments.world))
    report(rows)
    if arguments.write:
        weights = {key: fit(members) for key, members in by_key(rows).items()}
        content = json.loads(arguments.write.read_text()) | BeliefModel(weights).content()
        arguments.write.write_text(json.dumps(dict(sorted(content.items())), indent=1) + "\n")


def collect(keep: Path, readings: Path) -> Iterator[Row]:
    real = prepared(real_receipts())
    made_up = prepared(generate_receipts(TRAINED, seed=TRAINED_SEED))
    new = prepared(generate_receipts(NEW, seed=NEW_SEED))
    scanned = prepared(list(world.receipts(readings)))
    yield from rows_of("new", new, shipped())
    by_real = kept(keep / "real.model", lambda: train_model(real))
    yield from rows_of("new by real", new, by_real, UNKNOWN_WEIGHT)
    by_made_up = kept(keep / "made-up.model", lambda: train_model(made_up))
    yield from rows_of("real by new", real, by_made_up, UNKNOWN_WEIGHT)
    for fold in range(FOLDS):
        others = [item for item in real if fold_of(item) != fold]
        model = kept(keep / f"fold{fold}.model", lambda some=others: train_model(weigh([*some, *made_up])))
        yield from rows_of("real", [item for item in real if fold_of(item) == fold], model)
    for fold in range(FOLDS):
        others = [*real, *made_up, *(item for item in scanned if fold_of(item) != fold)]
        model = kept(keep / f"world{fold}.model", lambda some=others: train_model(weigh(some)))
        yield from world_rows([item for item in scanned if fold_of(item) == fold], model)


def real_receipts() -> list[LabelledReceipt]:
    vendor = vendor_groups(keys())
    first: dict[str, str] = {}
    for name in sorted(vendor):
        first.setdefault(vendor[name], name)
    return [example for _, example in examples(None) if not is_set_aside(first[example.vendor])]


def prepared(receipts: Sequence[LabelledReceipt]) -> list[Prepared]:
    return weigh([prepare(example) for example in receipts])


def fold_of(item: Prepared) -> int:
    return part_of_vendor(item.example.vendor)


def part_of_vendor(vendor: str) -> int:
    return zlib.crc32(vendor.encode()) % FOLDS


def kept(path: Path, make: Callable[[], _Kept]) -> _Kept:
    """Return what was made before, if it was."""
    if not path.exists():
        path.write_bytes(pickle.dumps(make()))
    return pickle.loads(path.read_bytes())  # noqa: S301 - our own file


def rows_of(
    source: str, documents: Sequence[Prepared], model: ReceiptModel, weight: float = 1.0
) -> Iterator[Row]:
    model = replace(model, calibrations=shipped().calibrations)
    for item in documents:
        findings = learned_findings(item.candidates, model)
        facts = facts_of(findings, item.candidates, text_facts(findings, item.candidates))
        truth = item.example.truth
        for path in (*(PATHS[field] for field in FIELDS), PATHS["total"]):
            if path in facts and path in truth:
                right = bool(truth[path]) and is_right(findings[path].value, truth[path])
                value, before = facts[path], findings[path].probability
                yield Row(source, f"receipt {value.kind}", value.facts, before, right, path, weight=weight)


def world_rows(documents: Sequence[Prepared], model: ReceiptModel) -> Iterator[Row]:
    """Yield the values of scanned receipts."""
    model = replace(model, calibrations=shipped().calibrations)
    for item in documents:
        findings = learned_findings(item.candidates, model)
        facts = facts_of(findings, item.candidates, text_facts(findings, item.candidates))
        for path in sorted(BELIEVED & facts.keys()):
            right = world.is_value_right(item.example.key, path, findings[path].value)
            if right is not None:
                value, before = facts[path], findings[path].probability
                yield Row(
                    "world",
                    f"receipt {value.kind}",
                    value.facts,
                    before,
                    right,
                    path,
                    papers=item.example.vendor,
                )


def report(rows: Sequence[Row]) -> None:
    for key, members in sorted(by_key(rows).items()):
        for source in sorted({row.source for row in members}):
            some = list(left_out(members, source))
            show(source, key, some)
            right = np.array([row.is_right for row, _ in some])
            before = aurc(np.array([row.before for row, _ in some]), right)
            print(f"{'':14} AURC {before:.3f}, {aurc(np.array([belief for _, belief in some]), right):.3f}")


def left_out(rows: Sequence[Row], source: str) -> Iterator[tuple[Row, float]]:
    """Yield the rows of a source with the belief by the others, or by its other vendors if there are none."""
    own = [row for row in rows if row.source == source]
    others = [row for row in rows if row.source != source]
    for part in range(FOLDS):
        some = [row for row in own if part_of_vendor(row.papers) == part]
        taught = others or [row for row in own if part_of_vendor(row.papers) != part]
        model = BeliefModel({rows[0].key: fit(taught)})
        yield from ((row, model.belief(row.key, row.facts) or 0.0) for row in some)


def aurc(beliefs: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    """Return the mean share of wrong values among the most believed ones, over all numbers of them."""
    order = np.argsort(-beliefs, kind="stable")
    return float((np.cumsum(~right[order]) / np.arange(1, len(order) + 1)).mean())


if __name__ == "__main__":
    main()
