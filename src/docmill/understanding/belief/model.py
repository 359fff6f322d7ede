"""Logistic models of belief, one by reading and kind of value; `bench.fit.fitted_belief` fits them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Literal

import numpy as np

from docmill.understanding.belief.facts import FACTS, Facts, ValueFacts, facts_of
from docmill.understanding.belief.row_facts import row_facts_of
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import Finding, Findings
from docmill.understanding.text.codes import is_bic, is_iban, is_vat_id

Reading = Literal["business", "labelled", "receipt", "own", "lent"]
"""The way in which a value was found: by the rules of business papers, by the labels that a built-in type
lists, by the rules of receipts, by a user's schema; lent: by a built-in type's rules for a user's field."""

MOST = 0.999
"""No reading is surer than this."""
_PLACES = 4
_PARTS = ("net_total", "tax_total")


@dataclass(frozen=True, slots=True)
class BeliefModel:
    """Logistic weights by key, such as `own date`: the offset, then a weight for each of `FACTS`."""

    weights: Mapping[str, Facts]

    def belief(self, key: str, facts: Facts) -> float | None:
        """The probability that a value with these facts is right; None if no weights have this key."""
        weights = self.weights.get(key)
        if weights is None:
            return None
        return min(float(1 / (1 + np.exp(-(weights[0] + weights[1:] @ facts)))), MOST)

    @classmethod
    def of_content(cls, content: Mapping[str, Mapping[str, float]]) -> "BeliefModel":
        """The model of this JSON; a fact that it does not name has the weight 0."""
        unknown = {name for named in content.values() for name in named} - {"offset", *FACTS}
        assert not unknown, f"beliefs.json was fitted to other facts: {sorted(unknown)}"
        return cls(
            {
                key: np.array([named.get(name, 0.0) for name in ("offset", *FACTS)])
                for key, named in content.items()
            }
        )

    def content(self) -> dict[str, dict[str, float]]:
        """The model as JSON: by key, the weights that are not zero, by the name of their fact."""
        names = ("offset", *FACTS)
        return {
            key: {
                name: round(float(weight), _PLACES) for name, weight in zip(names, row, strict=True) if weight
            }
            for key, row in self.weights.items()
        }


@cache
def shipped_beliefs() -> BeliefModel:
    """The model that comes with docmill."""
    content = resources.files(__package__ or "").joinpath("beliefs.json").read_text(encoding="utf-8")
    return BeliefModel.of_content(json.loads(content))


def believed(
    findings: Findings,
    candidates: Candidates,
    reading: Reading,
    known: Mapping[str, Mapping[str, float]] | None = None,
) -> dict[str, Finding]:
    """The findings with calibrated probabilities; those without a model for their kind stay as they are.

    known: see `facts_of`.
    """
    model = shipped_beliefs()
    calibrated = dict(findings)
    for path, key, facts in _keyed_facts(findings, candidates, reading, known):
        belief = model.belief(key, facts)
        if belief is not None and not _is_misread(path, findings[path]):
            calibrated[path] = replace(findings[path], probability=belief, calibrated=True)
    return calibrated


def _keyed_facts(
    findings: Findings,
    candidates: Candidates,
    reading: Reading,
    known: Mapping[str, Mapping[str, float]] | None,
) -> Iterator[tuple[str, str, Facts]]:
    """Yield path, key of the weights and facts of each value. Only business papers have weights for lists."""
    for path, value in facts_of(findings, candidates, known).items():
        yield path, key_of(reading, path, value, findings[path]), value.facts
    if reading == "business":
        yield from row_facts_of(findings, candidates)


def key_of(reading: Reading, path: str, value: ValueFacts, finding: Finding) -> str:
    """The key of the weights for a value outside of lists."""
    if reading == "receipt":  # the total is learned, its parts are found by the rules
        return f"receipt {'part' if path in _PARTS else value.kind}"
    # Fields that the built-in types have, too, are confirmed by them; others speak for themselves.
    return f"{'alone' if reading == 'own' and finding.agrees is None else reading} {value.kind}"


def _is_misread(path: str, finding: Finding) -> bool:
    """Return whether a code fails its checksum. The low probability that it was found with is kept."""
    is_valid = {"iban": is_iban, "vat_id": is_vat_id, "bic": is_bic}.get(path.rpartition(".")[2])
    return is_valid is not None and isinstance(finding.value, str) and not is_valid(finding.value)
