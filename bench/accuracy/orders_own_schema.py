"""Measure a user's own schema on the orders of ../shared/data/adbuy: S2 accuracy, untrained and trained.

Names and one-line descriptions only; splits by station, by layout, and within a layout after corrections.
Layouts are pages with mostly the same words (average linkage at a cosine of 0.4), found without the truth.

Usage: python -m bench orders_own_schema [--cache FOLDER]
"""

import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.arguments import argument_parser
from bench.data.orders import CACHE, documents, is_right, labels
from bench.data.shared import load_scorer
from docmill.model.corrections import Weights
from docmill.model.document import Document
from docmill.model.result import Schema
from docmill.schemas.outline import outline
from docmill.schemas.user_schemas import schema_of
from docmill.understanding.corrections.fit import fit_layouts, fit_model, make_example
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.offline import read_pages
from docmill.understanding.user_schemas.extractor import meanings_of, score_fields
from docmill.understanding.user_schemas.schema_model import Example, SchemaModel

FIELDS = {
    "contract_num": ("string", "number of the contract, order or invoice"),
    "advertiser": ("string", "name of the advertiser, the client who buys the air time"),
    "gross_amount": ("decimal", "total gross amount of the contract, order or invoice"),
    "flight_from": ("date", "first date of the flight, start of the period the ads run"),
    "flight_to": ("date", "last date of the flight, end of the period the ads run"),
}
DATES = ("Flight Dates", "Contract Dates", "Schedule Dates", "Flight", "Period")
ALIASES = {
    "contract_num": ("Contract #", "Contract / Revision", "Order / Rev", "Invoice #", "Contract"),
    "advertiser": ("Advertiser", "Advertiser Name", "Advertiser/T-Code", "Client"),
    "gross_amount": ("Gross Total", "Gross Amount", "Grand Total", "Total $", "Total Gross", "Totals"),
    "flight_from": DATES,
    "flight_to": DATES,
}
KINDS = {"string": {}, "decimal": {"type": "number"}, "date": {"format": "date"}}
LAYOUT = 0.4
SMALL = 7
TAUGHT = 70
SEEDS = 3
STATION = re.compile(r"^\(?\+?([KW][A-Z]{2,3})(-TV|/.*)?\)?$")

Hits = dict[str, list[bool]]


class Case(NamedTuple):
    """A document, ready to be scored. right: a mask of each field's candidates that are right by S2."""

    example: Example
    right: Mapping[str, NDArray[np.bool_]]
    station: str


def own_schema(aliases: Mapping[str, tuple[str, ...]]) -> Schema:
    properties = {
        name: {"type": "string", **KINDS[kind], "description": told} for name, (kind, told) in FIELDS.items()
    }
    return schema_of({"title": "adbuy", "type": "object", "properties": properties}, labels=aliases)


def measure_untrained(
    loaded: Mapping[str, Document], schema: Schema, truth: Mapping[str, Any], score: Any
) -> Hits:
    """Measure the extractor as it is, with nothing learned."""
    hits: Hits = {field: [] for field in FIELDS}
    seconds: list[float] = []
    for name, document in loaded.items():
        started = time.process_time()
        data = read_pages(document, schema).data.model_dump()
        seconds.append(time.process_time() - started)
        for field in FIELDS:
            hits[field].append(is_right(field, data[field], truth[name].get(field), score))
    median, slow = np.quantile(seconds, [0.5, 0.95]) * 1000
    print(f"CPU time per document: median {median:.0f} ms, 95th percentile {slow:.0f} ms")
    return hits


def make_case(document: Document, schema: Schema, truth: Mapping[str, Any], score: Any) -> Case:
    fields = score_fields(candidates_of(document), meanings_of(outline(schema)))
    example = make_example(document, schema, truth)
    good: dict[str, NDArray[np.bool_]] = {}
    for path, field in fields.items():
        best = np.sort(np.argsort(-field.scores, kind="stable")[: len(example.fields[path].rows)])
        leading: list[int] = best.tolist()
        values = [field.candidates[index].value for index in leading]
        good[path] = np.array([is_right(path, value, truth.get(path), score) for value in values], np.bool_)
    words = document.pages[0].words.texts
    found = next((match[1] for word in words if (match := STATION.match(word))), document.content_hash)
    return Case(example, good, found)


def right_fields(case: Case, weights: Mapping[str, Weights]) -> dict[str, bool]:
    """Tell for each field whether its best candidate is right."""
    hits: dict[str, bool] = {}
    for path, field in case.example.fields.items():
        best = field.best(weights.get(path, Weights.none()))
        hits[path] = best >= 0 and bool(case.right[path][best])
    return hits


def group_by_layout(cases: Sequence[Case]) -> list[list[int]]:
    """Group documents by layout: average linkage on the cosine of the first pages' words."""
    vocabulary = sorted({word for case in cases for word in case.example.words})
    marks = np.array([[word in case.example.words for word in vocabulary] for case in cases], np.float64)
    marks /= np.linalg.norm(marks, axis=1, keepdims=True) + 1e-9
    alike = marks @ marks.T
    groups = [[index] for index in range(len(cases))]
    while True:
        best, pair = LAYOUT, None
        for index, group in enumerate(groups):
            for other in range(index):
                mean = float(alike[np.ix_(group, groups[other])].mean())
                if mean > best:
                    best, pair = mean, (index, other)
        if pair is None:
            return groups
        groups[pair[1]] += groups.pop(pair[0])


def measure_folds(cases: Sequence[Case], folds: Sequence[Sequence[int]], seed: int) -> Hits:
    """Measure each fold by a model fitted to 70 documents of the others, as `docmill learn` does."""
    hits: Hits = {field: [] for field in FIELDS}
    for fold in folds:
        rest = [index for index in range(len(cases)) if index not in set(fold)]
        order: list[int] = np.random.default_rng(seed).permutation(len(rest))[:TAUGHT].tolist()
        model = fit_model("adbuy", [cases[rest[index]].example for index in order])
        for index in fold:
            for path, good in right_fields(
                cases[index], model.on_page(cases[index].example.words).weights
            ).items():
                hits[path].append(good)
    return hits


def measure_after_corrections(cases: Sequence[Case], layouts: Sequence[Sequence[int]], count: int) -> Hits:
    """Measure the rest of each layout after `count` corrected documents of it, with nothing else learned."""
    hits: Hits = {field: [] for field in FIELDS}
    for seed in range(SEEDS):
        rng = np.random.default_rng(100 + seed)
        for layout in layouts:
            places: list[int] = rng.permutation(len(layout)).tolist()
            order = [layout[place] for place in places]
            model = fit_layouts(
                SchemaModel("adbuy", examples=tuple(cases[index].example for index in order[:count]))
            )
            for index in order[count:]:
                for path, good in right_fields(
                    cases[index], model.on_page(cases[index].example.words).weights
                ).items():
                    hits[path].append(good)
    return hits


def by_station(cases: Sequence[Case], seed: int) -> list[list[int]]:
    stations = sorted({case.station for case in cases})
    order: list[int] = np.random.default_rng(seed).permutation(len(stations)).tolist()
    fold_of = {stations[index]: place % 4 for place, index in enumerate(order)}
    folds: dict[int, list[int]] = defaultdict(list)
    for index, case in enumerate(cases):
        folds[fold_of[case.station]].append(index)
    return list(folds.values())


def show(
    name: str, hits: Hits, documents_n: int, wilson: Callable[[float, float], tuple[float, float]]
) -> None:
    """Print the mean of the fields' accuracies. The interval counts documents, not repeated trials."""
    shares = {field: float(np.mean(found)) for field, found in hits.items()}
    mean = float(np.mean(list(shares.values())))
    n = documents_n * len(FIELDS)
    low, high = wilson(mean * n, n)
    each = " ".join(f"{field} {share:.3f}" for field, share in shares.items())
    print(f"{name:38} {mean:.3f} (n={n}, 95 %: {low:.3f}-{high:.3f}) | {each}", flush=True)


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--cache", type=Path, default=CACHE)
    arguments = parser.parse_args()
    score = load_scorer()
    loaded = dict(documents(arguments.cache))
    truth = {entry["id"]: entry["gold"] for entry in labels() if entry["id"] in loaded}
    plain = own_schema({})
    show("nothing learned", measure_untrained(loaded, plain, truth, score), len(loaded), score.wilson)
    show(
        "with aliases",
        measure_untrained(loaded, own_schema(ALIASES), truth, score),
        len(loaded),
        score.wilson,
    )
    cases = [make_case(document, plain, truth[name], score) for name, document in loaded.items()]
    layouts = group_by_layout(cases)
    sizes = Counter(map(len, layouts))
    print(
        f"{len({case.station for case in cases})} stations, {len(layouts)} layouts of {dict(sizes)} documents"
    )
    large = [layout for layout in layouts if len(layout) >= SMALL]
    small = [index for layout in layouts if len(layout) < SMALL for index in layout]
    folds = [*large, small] if small else large
    show(
        "70 taught, station not seen", measure_folds(cases, by_station(cases, 0), 0), len(cases), score.wilson
    )
    show("70 taught, layout not seen", measure_folds(cases, folds, 0), len(cases), score.wilson)
    known = sum(map(len, large))
    for count in (0, 1, 3, 5):
        name = f"{count} of the layout corrected"
        show(name, measure_after_corrections(cases, large, count), known - count * len(large), score.wilson)


if __name__ == "__main__":
    main()
