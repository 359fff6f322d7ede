"""Measure what `docmill learn` does to the belief in a user's fields: orders of ../shared/data/adbuy.

The orders that are not set aside are read in four folds by station, each by a model that was learned from
some documents of other stations; with one and five of them two draws are read. Believed is a value whose
belief reaches the floor, and whole a document of which every known value is believed, in each draw.

Usage: python -m bench learned_beliefs [--cache FOLDER] [--taught 1 --taught 70]
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.accuracy.orders_own_schema import FIELDS, own_schema
from bench.accuracy.trust import is_set_aside, station
from bench.arguments import argument_parser
from bench.data.orders import CACHE, documents, is_right, labels
from bench.data.shared import load_scorer
from docmill.evaluation.metrics import calibration_error
from docmill.model.document import Document
from docmill.model.result import Schema
from docmill.understanding.corrections.evaluate import learned_model
from docmill.understanding.offline import make_judged_example, read_pages
from docmill.understanding.user_schemas.schema_model import Example, SchemaModel
from docmill.understanding.withholding import FLOOR_OF_OWN

TAUGHT = (0, 1, 5, 20, 70)
_FOLDS = 4
_FEW = 5
"""Up to so many documents the draw matters, and two are read."""


class Order(NamedTuple):
    """An order with its known values, as a document and as an example to learn from."""

    name: str
    document: Document
    truth: Mapping[str, Any]
    example: Example
    station: str


class Outcome(NamedTuple):
    """The belief in the value of a known field, and whether it is right."""

    order: str
    belief: float
    is_right: bool


def folds_by_station(orders: Sequence[Order]) -> list[list[Order]]:
    """Divide the orders into four folds; those of one station are in one of them."""
    folds: dict[int, list[Order]] = defaultdict(list)
    stations = sorted({order.station for order in orders})
    places: list[int] = np.random.default_rng(0).permutation(len(stations)).tolist()
    fold_of = {name: place % _FOLDS for name, place in zip(stations, places, strict=True)}
    for order in orders:
        folds[fold_of[order.station]].append(order)
    return list(folds.values())


def measure(orders: Sequence[Order], schema: Schema, count: int, draw: int, score: Any) -> list[Outcome]:
    """Read each fold by a model learned from `count` orders of the others."""
    outcomes: list[Outcome] = []
    for fold in folds_by_station(orders):
        rest = [order for order in orders if order not in fold]
        places: list[int] = np.random.default_rng(draw).permutation(len(rest))[:count].tolist()
        taught = [rest[place].example for place in places]
        model = learned_model(schema.name, taught) if taught else None
        for order in fold:
            outcomes += _read(order, schema, model, score)
    return outcomes


def _read(order: Order, schema: Schema, model: SchemaModel | None, score: Any) -> list[Outcome]:
    extraction = read_pages(order.document, schema, model)
    values = extraction.data.model_dump()
    outcomes: list[Outcome] = []
    for field in FIELDS:
        if truth := order.truth.get(field):
            proof = extraction.evidence.get(field)
            belief = proof.confidence if proof is not None and values[field] is not None else 0.0
            outcomes.append(Outcome(order.name, belief, is_right(field, values[field], truth, score)))
    return outcomes


def show(count: int, draws: Sequence[Sequence[Outcome]]) -> None:
    """Print the figures of one number of taught documents."""
    outcomes = [outcome for draw in draws for outcome in draw]
    believed = [outcome for outcome in outcomes if outcome.belief >= FLOOR_OF_OWN]
    wrong = sum(not outcome.is_right for outcome in believed)
    names = {outcome.order for outcome in outcomes}
    doubted = {outcome.order for outcome in outcomes if outcome.belief < FLOOR_OF_OWN}
    given = [outcome for outcome in outcomes if outcome.belief > 0]
    error = calibration_error(
        np.array([outcome.belief for outcome in given]), np.array([outcome.is_right for outcome in given])
    )
    print(
        f"{count:3} taught: believed {len(believed)} of {len(outcomes)}, wrong {wrong},"
        f" whole {len(names - doubted)} of {len(names)}, calibration error {error:.3f}",
        flush=True,
    )


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--taught", type=int, action="append", help="repeatable; all unless given")
    arguments = parser.parse_args()
    score = load_scorer()
    schema = own_schema({})
    truths = {entry["id"]: entry["gold"] for entry in labels()}
    orders: list[Order] = []
    for name, document in documents(arguments.cache):
        by = station(f"{name}.pdf")
        if name in truths and not is_set_aside(by):
            example = make_judged_example(document, schema, truths[name])
            orders.append(Order(name, document, truths[name], example, by))
    for count in arguments.taught or TAUGHT:
        draws = 2 if 0 < count <= _FEW else 1
        show(count, [measure(orders, schema, count, draw, score) for draw in range(draws)])


if __name__ == "__main__":
    main()
