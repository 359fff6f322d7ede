"""What a model answers for doubted fields, merged with what is known of the others."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from docmill.model.paths import is_same_value, leaves, set_value, value_at
from docmill.model.result import Evidence, Extraction, Schema
from docmill.model.steps_taken import StepTaken
from docmill.schemas.filling import filled
from docmill.understanding.ports import FieldModel, Question, SecondReading


class ModelReader:
    """`SecondReader` by a language model. Its values must stand on the page to be of use."""

    is_paid = True

    def __init__(self, model: FieldModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """As the model is called."""
        return self._model.name

    async def read_again(self, best: Extraction, doubted: Sequence[str], question: Question) -> SecondReading:
        """See `SecondReader.read_again`."""
        found = await self._model.ask(
            question.document, question.schema, question.original, meter=question.meter, only=doubted
        )
        failures = tuple(dict.fromkeys((*best.failures, *found.failures)))
        if failures != best.failures:
            best = best.model_copy(update={"failures": failures})
        step = StepTaken(kind="asked", by=found.reason, fields=tuple(doubted))
        return SecondReading(best, [merge(best, found, doubted, question.schema)], step)


class _Values(NamedTuple):
    """Values and where they stand."""

    data: dict[str, Any]
    evidence: dict[str, Evidence]


def merge(best: Extraction, found: Extraction, wanted: Sequence[str], schema: Schema) -> Extraction:
    """The best with what was found for the fields that were asked for, as far as it stands on the page."""
    kept = _Values(best.data.model_dump(), dict(best.evidence))
    new = found.data.model_dump()
    for path in wanted:
        if "[]" in path:
            _replace_list(kept, path.partition("[]")[0], new, found.evidence)
        else:
            _replace(kept, path, new, found.evidence)
    return best.model_copy(update={"data": filled(schema.fields, kept.data), "evidence": kept.evidence})


def _replace(kept: _Values, path: str, new: Mapping[str, Any], evidence: Mapping[str, Evidence]) -> None:
    value, proof = value_at(new, path), evidence.get(path)
    if value is None or proof is None or proof.match == "none":
        return
    old, known = value_at(kept.data, path), kept.evidence.get(path)
    if known is not None and is_same_value(old, value):
        # Two ways to the same value: what remains doubtful is how well it was recognised.
        if proof.confidence > known.confidence:
            kept.evidence[path] = proof
        return
    set_value(kept.data, path, value)
    kept.evidence[path] = proof


def _replace_list(kept: _Values, path: str, new: Mapping[str, Any], evidence: Mapping[str, Evidence]) -> None:
    """Replace all items at once: those of two readers cannot be told apart."""
    items = value_at(new, path)
    if not items or any(
        evidence[inner].match == "none" for inner, _ in leaves(items, path) if inner in evidence
    ):
        return
    set_value(kept.data, path, items)
    for inner in [inner for inner in kept.evidence if inner.startswith(f"{path}[")]:
        del kept.evidence[inner]
    kept.evidence.update({inner: proof for inner, proof in evidence.items() if inner.startswith(f"{path}[")})
