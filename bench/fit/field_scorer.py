"""Fit the weights with which candidates of users' fields are scored, `understanding/fields/scorer.json`.

python -m bench field_scorer [--orders FOLDER] [--write FILE]

Papers: made-up contract notes of banks and made-up forms (of another seed than those that beliefs are fitted
to), e-invoices by their text layer, whose fields are asked for under paraphrased names in the vocabulary's
languages, and broadcasters' orders. What is set aside (`bench.accuracy.trust`) is no part of it, and neither
are photographs and the papers of banks that are measured on.

A conditional logit for each form of a field: the likelihood that one of the right candidates is chosen among
all of them and no value, with a ridge towards the weights that were set by hand before (`PRIOR`). Every
source weighs alike. Shows for each source how often the first candidate is right by the prior, and by weights
that were fitted to the other sources; of made-up papers, also to the other half of their kinds or languages.
"""

import json
import random
import re
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from bench.accuracy import trust
from bench.accuracy.orders_own_schema import STATION, own_schema
from bench.arguments import argument_parser
from bench.data import invoices, orders
from bench.data.made_up_forms import made_up_forms
from bench.data.made_up_trades import made_up_trades
from bench.data.shared import load_scorer
from bench.fit.fitted_belief import AMOUNTS, DATES, OWN_NAMES, same
from docmill.model.document import Document
from docmill.model.result import Schema
from docmill.schemas.outline import outline
from docmill.schemas.user_schemas import schema_of
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.fields.match_features import match_features
from docmill.understanding.fields.meaning import NULL
from docmill.understanding.fields.scoring import Scored, linear_score, offered_candidates
from docmill.understanding.user_schemas.extractor import meanings_of
from docmill.understanding.user_schemas.label_texts import LabelTexts
from docmill.understanding.vocabulary import LANGUAGES, Concept

SEED = 4711
TRADES, FORMS, SCHEMAS = 40, 24, 1
"""Made-up papers of each language and kind, and schemas that each e-invoice is read by."""
RIDGE = 150.0
"""On weights of features of variance one. With 3 and 10, sources that were left out were read much worse."""
SIZE = 600
"""Fields that the sources of a form weigh together with, each of them alike."""
FEWEST = 60
"""Fields of a form that weights are learned for."""
PAPERS_OWN = 0.35
"""Share of names that somebody thought of, among those of the vocabulary."""
CONCEPTS: Mapping[str, Concept] = {
    "number": Concept.INVOICE_NUMBER,
    "issue_date": Concept.INVOICE_DATE,
    "due_date": Concept.DUE_DATE,
    "delivery_date": Concept.DELIVERY_DATE,
    "period_start": Concept.PERIOD_START,
    "period_end": Concept.PERIOD_END,
    "seller.name": Concept.SELLER,
    "buyer.name": Concept.BUYER,
    "seller.vat_id": Concept.VAT_NUMBER,
    "order_number": Concept.ORDER_NUMBER,
    "customer_number": Concept.CUSTOMER_NUMBER,
    "delivery_note_number": Concept.DELIVERY_NOTE_NUMBER,
    "contract_number": Concept.CONTRACT_NUMBER,
    "net_total": Concept.NET,
    "tax_total": Concept.TAX,
    "gross_total": Concept.GROSS,
}
"""The concepts by whose labels, in any language, a built-in field is called."""
OTHER: Mapping[str, float] = {
    "label": 4.0,
    "first page": 0.6,
    "repeated": 0.15,
    "other label": -2.0,
    "other side": -3.0,
}
_CHECKED = {**OTHER, "offset": 2.5, "plain": -1.5}
_CODE = {
    "own form": 4.0,
    "checked digits": 1.5,
    "unchecked": 0.8,
    "code": -0.5,
    "long code": 1.0,
    "plain": -4.0,
    "upper": 0.6,
    "cut code": -1.0,
    "amount as code": -2.0,
    "part of code": -1.5,
}
_NAME = {
    "words of forms": -3.0,
    "colon in name": -3.0,
    "begins text": 0.8,
    "ends text": 1.0,
    "behind colon": 0.8,
    "word follows": -1.6,
    "two lines": -0.8,
    "ends in form": -1.0,
    "whole run": 1.6,
    "upper": 0.4,
    "many digits": -1.0,
    "small letter": -1.5,
    "behind word": -1.5,
}
PRIOR: Mapping[str, Mapping[str, float]] = {
    "other": OTHER,
    "choice": {**OTHER, "only": 1.0},
    **dict.fromkeys(("iban", "bic", "vat id", "mail", "currency"), _CHECKED),
    "money": {
        **OTHER,
        "currency": 0.5,
        "plain": -2.5,
        "withheld": -3.0,
        "largest, total": 1.2,
        "second, total": 0.4,
        "net words, total": -1.5,
    },
    "number": {**OTHER, "currency": -2.0, "rate": -2.0, "part of code": -2.0},
    "date": {**OTHER, "upper": 0.8, "own role": 2.0, "other role": -3.0},
    "code": {**OTHER, **_CODE},
    "standard number": {**OTHER, **_CODE, "code": -2.5},
    "name": {**OTHER, **_NAME},
    "text": {**OTHER, **_CODE, **_NAME, "code": -1.0, "upper": 0.5},
}
"""The weights that were set by hand, to which a weight returns that no paper speaks for."""
LEARNED: Mapping[str, Sequence[str]] = {
    "number": (
        *("factor, count", "factor, number", "product, count", "product, number"),
        *("currency", "rate", "part of code", "strong", "under label"),
    ),
    "name": ("before isin", "counted"),
}
"""The forms whose weights are learned, and the features of which they are.

Of amounts, dates, codes, texts and of other names, weights that were fitted to other papers read real ones no
better, or made docmill surer of wrong ones: bench/results/orders-and-reviews.md.
"""
FIRM = 1e5
"""The ridge on weights that are not learned."""

Floats = NDArray[np.float64]


class Case(NamedTuple):
    """The candidates of a field of a paper. rows: their features; right: of each, whether it is the value."""

    source: str
    group: str
    field: str
    form: str
    rows: Sequence[Mapping[str, float]]
    right: NDArray[np.bool_]
    is_known: bool


def cases_of(
    source: str,
    group: str,
    document: Document,
    schema: Schema,
    truth: Mapping[str, bool],
    is_right: Callable[[str, object], bool | None],
) -> Iterator[Case]:
    """Yield the fields of a paper. truth: of each field that is known, whether the paper has a value."""
    candidates = candidates_of(document)
    meanings = {path: meaning for path, meaning in meanings_of(outline(schema)).items() if "[]" not in path}
    texts = LabelTexts(meanings.values(), candidates)
    for path in truth.keys() & meanings.keys():
        offered = offered_candidates(candidates, meanings[path])
        labels, features = match_features(candidates, meanings[path], offered)
        places = np.arange(len(offered), dtype=np.float64)
        scored = Scored(meanings[path], offered, np.array(labels, np.float64), places)
        field = texts.excluded_from(scored)
        right = [truth[path] and bool(is_right(path, candidate.value)) for candidate in field.candidates]
        rows = [features[int(place)] for place in field.scores]
        yield Case(source, group, path, field.meaning.form, rows, np.array(right, np.bool_), truth[path])


def collect(cache: Path) -> Iterator[Case]:
    for form in made_up_trades(TRADES, seed=SEED):
        known = {path: value is not None for path, value in form.truth.items()}
        yield from cases_of("trades", form.kind, form.document, form.schema, known, form.is_right)
    for form in made_up_forms(FORMS, seed=SEED):
        known = {path: value is not None for path, value in form.truth.items()}
        yield from cases_of("forms", form.kind, form.document, form.schema, known, form.is_right)
    truths = invoices.labels()
    for path, document in invoices.documents():
        truth = {field: texts[0] for field, texts in truths[invoices.name_of(path)].items()}
        seller = truth.get("seller.name", invoices.name_of(path))
        if not trust.is_set_aside(seller):
            yield from invoice_cases(path.name, seller, replace(document, embedded=()), truth)
    yield from order_cases(cache)


def invoice_cases(name: str, seller: str, document: Document, truth: Mapping[str, str]) -> Iterator[Case]:
    for number in range(SCHEMAS):
        random_ = random.Random(f"{SEED} {name} {number}")
        fields = [field for field in {**OWN_NAMES, **CONCEPTS} if field in truth]
        random_.shuffle(fields)
        schema, field_of = paraphrased_schema(fields, random_)
        for case in cases_of(
            "e-invoices",
            seller,
            document,
            schema,
            dict.fromkeys(field_of, True),
            lambda path, value, of=field_of: same(of[path], value, truth[of[path]]),
        ):
            # A value of the XML that is not printed teaches nothing.
            if case.right.any():
                yield case


def paraphrased_schema(fields: Sequence[str], random_: random.Random) -> tuple[Schema, dict[str, str]]:
    """A schema of these built-in fields under other names, and the built-in field of each name."""
    properties: dict[str, dict[str, str]] = {}
    field_of: dict[str, str] = {}
    for field in fields:
        concept = CONCEPTS.get(field)
        if concept is None or (field in OWN_NAMES and random_.random() < PAPERS_OWN):
            name, description = random_.choice(OWN_NAMES[field])
        else:
            name = re.sub(r"\W+", "_", phrase_of(concept, random_)).strip("_") or field
            description = random_.choice(("", "", phrase_of(concept, random_)))
        if name not in field_of:
            kind = {"type": "number"} if field in AMOUNTS else {"type": "string"}
            form = {"format": "date"} if field in DATES else {}
            properties[name] = {**kind, **form, "description": description}
            field_of[name] = field
    return schema_of({"title": "paraphrased", "type": "object", "properties": properties}), field_of


def phrase_of(concept: Concept, random_: random.Random) -> str:
    """One of the labels of a concept in one of the languages."""
    language = random_.choice([language for language in LANGUAGES if language.labels.get(concept)])
    return random_.choice(list(language.labels[concept])).replace("#", "number")


def order_cases(cache: Path) -> Iterator[Case]:
    score, schema = load_scorer(), own_schema({})
    gold = {row["id"]: row["gold"] for row in orders.labels()}
    for name, document in orders.documents(cache):
        texts = document.pages[0].words.texts
        if trust.is_set_aside(trust.station(f"{name}.pdf")):
            continue
        station = next((match[1] for text in texts if (match := STATION.match(text))), document.content_hash)
        truth = gold[name]
        yield from cases_of(
            "orders",
            station,
            document,
            schema,
            {field: bool(truth.get(field)) for field in orders.FIELDS},
            lambda path, value, of=truth: orders.is_right(path, value, of.get(path), score),
        )


def fit(cases: Sequence[Case], prior: Mapping[str, float], learned: Sequence[str]) -> dict[str, float]:
    """Fit the weights of one form to fields with candidates; every source weighs alike.

    learned: the features whose weights may change.
    """
    used = [case for case in cases if case.rows]
    names = sorted({name for case in used for row in case.rows for name in row} | prior.keys() - {"offset"})
    column = {name: index for index, name in enumerate([*names, "offset"])}
    counts = [len(case.rows) for case in used]
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    owner = np.repeat(np.arange(len(used)), counts)
    x = np.zeros((sum(counts), len(column)))
    x[:, -1] = 1.0
    for index, row in enumerate(row for case in used for row in case.rows):
        for name, value in row.items():
            x[index, column[name]] = value
    right = np.concatenate([case.right for case in used])
    has_right = np.logical_or.reduceat(right, starts)
    sizes = {source: sum(case.source == source for case in used) for source in {case.source for case in used}}
    importance = np.array([SIZE / len(sizes) / sizes[case.source] for case in used])
    scale = np.maximum(x.std(axis=0), 0.02)
    scale[-1] = 1.0
    expected = np.array([prior.get(name, 0.0) for name in column]) * scale
    stiffness = np.array([RIDGE if name in learned else FIRM for name in column])
    x /= scale

    def loss(weights: Floats) -> tuple[float, Floats]:
        scores = x @ weights
        all_of, shares = _log_sum(scores, starts, owner, null=np.full(len(used), NULL))
        masked = np.where(right, scores, -np.inf)
        some, right_shares = _log_sum(masked, starts, owner, null=np.where(has_right, -np.inf, NULL))
        gap = weights - expected
        slope = x.T @ (importance[owner] * (shares - right_shares)) + stiffness * gap
        return float((importance * (all_of - some)).sum() + 0.5 * (stiffness * gap) @ gap), slope

    found = minimize(loss, expected, jac=True, method="L-BFGS-B", options={"maxiter": 200}).x / scale
    return {
        name: float(found[index]) if name in learned else prior.get(name, 0.0)
        for name, index in column.items()
    }


def _log_sum(
    scores: Floats, starts: NDArray[np.intp], owner: NDArray[np.intp], *, null: Floats
) -> tuple[Floats, Floats]:
    """The logarithm of the sum of the exponentials of each field's scores and `null`; the shares of each."""
    top = np.maximum(np.maximum.reduceat(scores, starts), null)
    weights = np.exp(scores - top[owner])
    total = np.add.reduceat(weights, starts) + np.exp(null - top)
    return np.log(total) + top, weights / total[owner]


def scores_of(case: Case, weights: Mapping[str, float]) -> Floats:
    return np.array([linear_score(row, weights) for row in case.rows])


def left_out(cases: Sequence[Case], form: str) -> Iterator[tuple[Case, Floats, Floats]]:
    """Yield each field of a form with its scores by the prior, and by weights fitted without its papers."""
    prior = PRIOR[form]
    for part in sorted(set(map(part_of, cases))):
        others = [case for case in cases if part_of(case) != part]
        weights = fit(others, prior, LEARNED[form]) if len(others) >= FEWEST else prior
        for case in cases:
            if part_of(case) == part:
                yield case, scores_of(case, prior), scores_of(case, weights)


def part_of(case: Case) -> str:
    """The source of a paper; of made-up ones, the half of their kinds or languages that it is in."""
    if case.source in ("trades", "forms"):
        return f"{case.source} {zlib.crc32(case.group.encode()) % 2}"
    return case.source


def report(form: str, cases: Sequence[Case]) -> None:
    hits: dict[str, list[tuple[bool, ...]]] = defaultdict(list)
    for case, before, after in left_out(cases, form):
        if case.is_known:
            firsts = [
                bool(case.rows) and bool(case.right[int(scores.argmax())]) for scores in (before, after)
            ]
            hits[case.source].append((bool(case.right.any()), *firsts))
    for source, found in sorted(hits.items()):
        among, before, after = np.mean(found, axis=0)
        print(
            f"{form:16}{source:12} n {len(found):5} among {among:.3f} first {before:.3f} -> {after:.3f}",
            flush=True,
        )


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--orders", type=Path, default=orders.CACHE)
    parser.add_argument("--write", type=Path, help="where the weights go")
    arguments = parser.parse_args()
    by_form: dict[str, list[Case]] = defaultdict(list)
    for case in collect(arguments.orders):
        by_form[case.form].append(case)
    weights = dict(PRIOR)
    for form in LEARNED:
        report(form, by_form[form])
        weights[form] = fit(by_form[form], PRIOR[form], LEARNED[form])
    if arguments.write:
        content = {
            form: {name: round(value, 3) for name, value in sorted(of_form.items()) if abs(value) >= 0.005}
            for form, of_form in sorted(weights.items())
        }
        arguments.write.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
