"""Fit the belief in what is read of receipts in `beliefs.json`, by source left out.

python -m bench receipt_beliefs --networks FOLDER --readings FOLDER --world FOLDER
    --photographed FOLDER --keep FOLDER [--write FILE]

Two sources of vendors that neither their model nor their page model has seen: receipts of one country, and
scanned receipts of many, both also as photographs that were made of their scans. The folders are those of
`receipts_model`. What is set aside is no source.

For each source: the calibration error, the share of values at a belief of .9 or more, how many of these are
wrong, and the area under risk and coverage (AURC), by the share among rivals and by the model that was fitted
to the other sources.
"""

import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.accuracy.receipts_model import MADE_UP, PHOTOGRAPHED, add_receipts, kept_models, load
from bench.arguments import argument_parser
from bench.data import world
from bench.fit.fitted_belief import by_key, fit, show
from bench.fit.whole_papers import Row
from docmill.training.receipts import HeldOut, LabelledReceipt, cross_validate
from docmill.understanding.belief.facts import facts_of
from docmill.understanding.belief.model import BeliefModel, key_of
from docmill.understanding.receipts.extractor import BELIEVED, known_facts

PAPERS = 5
"""Parts of the vendors of a source; each is judged by the other parts where no other source has its field."""


def main() -> None:
    parser = argument_parser(__doc__)
    add_receipts(parser)
    parser.add_argument("--write", type=Path, help="where the weights go")
    arguments = parser.parse_args()
    loaded = load(arguments)
    source_of = {id(item): source(reader, item.example) for reader, item in loaded if reader != MADE_UP}
    documents = [item for _, item in loaded]
    found = cross_validate(documents, models=kept_models(documents, arguments.keep))
    rows = [
        row
        for item in found
        if id(item.document) in source_of
        for row in rows_of(source_of[id(item.document)], item)
    ]
    report(rows)
    if arguments.write:
        weights = {key: fit(members) for key, members in by_key(rows).items()}
        content = json.loads(arguments.write.read_text()) | BeliefModel(weights).content()
        arguments.write.write_text(json.dumps(dict(sorted(content.items())), indent=1) + "\n")


def source(reader: str, example: LabelledReceipt) -> str:
    """The collection that a receipt is of, and whether it was photographed."""
    collection = "world" if example.key in world.labels() else "real"
    return f"{collection} {PHOTOGRAPHED}" if reader == PHOTOGRAPHED else collection


def rows_of(source: str, item: HeldOut) -> Iterator[Row]:
    """Yield the values of a receipt that somebody has labelled."""
    candidates, example = item.document.candidates, item.document.example
    facts = facts_of(item.findings, candidates, known_facts(item.findings, candidates))
    for path in sorted(BELIEVED & facts.keys()):
        finding = item.findings[path]
        if source.startswith("world"):
            right = world.is_value_right(example.key, path, finding.value)
        else:
            right = item.right.get(path)
        if right is not None:
            key = key_of("receipt", path, facts[path], finding)
            yield Row(source, key, facts[path].facts, finding.probability, right, path, papers=example.vendor)


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
    collection = source.partition(" ")[0]
    others = [row for row in rows if not row.source.startswith(collection)]
    for part in range(PAPERS):
        some = [row for row in own if zlib.crc32(row.papers.encode()) % PAPERS == part]
        taught = others or [row for row in own if zlib.crc32(row.papers.encode()) % PAPERS != part]
        model = BeliefModel({rows[0].key: fit(taught)})
        yield from ((row, model.belief(row.key, row.facts) or 0.0) for row in some)


def aurc(beliefs: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    """Return the mean share of wrong values among the most believed ones, over all numbers of them."""
    order = np.argsort(-beliefs, kind="stable")
    return float((np.cumsum(~right[order]) / np.arange(1, len(order) + 1)).mean())


if __name__ == "__main__":
    main()
