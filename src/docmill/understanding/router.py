"""Who reads a document's fields: first who costs nothing, then models, only what is not believed."""

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import combinations
from typing import Any, NamedTuple, Protocol, cast

from docmill.errors import DocumentError, SetupError, TimeLimitError, TransientError
from docmill.model.document import Document, letters_and_digits
from docmill.model.result import Evidence, Extraction, Failure, Schema, Verdict
from docmill.ports import Extractor, Gate, Original
from docmill.resilience.time_limits import inner_limit
from docmill.schemas.filling import filled
from docmill.understanding.judging import judged
from docmill.understanding.llm.meter import Meter
from docmill.understanding.locate.evidence import values
from docmill.understanding.second_look import Other, SecondLook

log = logging.getLogger(__name__)

_NOT_NEEDED = " and no model needed"
"""What the first says behind its reason; not so once one is asked."""
_LISTED = 6
"""So many fields are named in a reason."""
_INDEX = re.compile(r"\[\d+\].*")


class AskedModel(Protocol):
    """Reads some fields only, on another's account. name: in reasons."""

    @property
    def name(self) -> str: ...  # noqa: D102

    async def ask(
        self,
        document: Document,
        schema: Schema,
        original: Original | None = None,
        *,
        meter: Meter,
        only: Sequence[str] = (),
    ) -> Extraction:
        """The values at these paths; what they cost is added to the meter. Raises as `Extractor.extract`."""
        ...


class Router:
    """`Extractor` that asks one after the other until the gate believes what it has.

    first: asked always, for everything; XML and rules cost nothing. second_look: then, at the places of
    the fields of which a check failed. models: asked in this order for those that still fail, as long as
    the budget lasts; what they say takes a field's place if it stands on the page, and is kept if the gate
    then objects to less. limit_s: for all models together; it ends before the limits of step and document.
    """

    def __init__(
        self,
        first: Extractor,
        models: Sequence[AskedModel],
        gate: Gate,
        *,
        second_look: SecondLook | None = None,
        budget: Decimal | None = None,
        limit_s: float | None = None,
    ) -> None:
        self._first = first
        self._models = tuple(models)
        self._gate = gate
        self._second_look = second_look
        self._budget = budget
        self._limit_s = limit_s

    async def extract(
        self, document: Document, schema: Schema, original: Original | None = None
    ) -> Extraction:
        """See `Extractor.extract`. Its reason tells who was asked for what, and what came of it.

        A model that fails leaves what there is to the next; `model_error` says that it can be asked later
        for what is still doubted in the end, perhaps only once somebody has mended the setup.
        """
        first = await self._first.extract(document, schema, original)
        state = _State(first, await judged(self._gate, document, first, schema), [first.reason])
        if self._second_look is not None and original is not None and state.doubted:
            await self._looked_again(self._second_look, state, document, schema, original=original)
        meter = Meter(self._budget, document.usage)
        limit = inner_limit(self._limit_s)
        limit_s = limit.left_s or 0
        try:
            async with limit:
                for model in self._models:
                    if not await self._improved(state, model, document, schema, original, meter=meter):
                        break
        except TimeoutError:
            given_up = f"given up after {round(limit_s, 2):g} s"
            state.story.append(given_up)
            state.errors.append(TimeLimitError(f"the models were {given_up}"))
        return state.best.model_copy(
            update={
                "usage": first.usage.plus(meter.usage),
                "reason": "; ".join(filter(None, state.story)),
                "model_error": None if meter.is_spent else state.model_error,
            }
        )

    async def _looked_again(
        self,
        second_look: SecondLook,
        state: "_State",
        document: Document,
        schema: Schema,
        *,
        original: Original,
    ) -> None:
        """The same values believed more or less, or amounts read otherwise with which sums add up."""
        before = state.doubted
        looked = await second_look.looked(document, state.best, before, original=original)
        if not looked.alike and not looked.unlike:
            return
        state.best = looked.extraction
        state.verdict = await judged(self._gate, document, state.best, schema)
        for paths in _choices(looked.others):
            other = _with_amounts(state.best, {path: looked.others[path] for path in paths}, schema)
            verdict = await judged(self._gate, document, other, schema)
            if len(_State(other, verdict).doubted) < len(state.doubted):
                state.best, state.verdict = other, verdict
                break
        mended = [path for path in before if path not in state.doubted]
        told = f"{_named(mended)} mended" if mended else "nothing better"
        state.story.append(f"looked again at {_named((*looked.alike, *looked.unlike))}: {told}")

    async def _improved(
        self,
        state: "_State",
        model: AskedModel,
        document: Document,
        schema: Schema,
        original: Original | None,
        *,
        meter: Meter,
    ) -> bool:
        """Whether it is worth while to ask another after this model."""
        wanted = state.doubted
        if not wanted:
            return False
        if meter.is_spent:
            state.story.append(f"{model.name} not asked: the budget of ${self._budget} is spent")
            return False
        state.story[0] = state.story[0].replace(_NOT_NEEDED, "")
        try:
            found = await model.ask(document, schema, original, meter=meter, only=wanted)
        except (TransientError, DocumentError, SetupError) as error:
            if not isinstance(error, DocumentError):
                state.errors.append(error)
            log.warning(
                "a model read no fields: %s", error.message, extra={"code": error.code, "model": model.name}
            )
            state.story.append(
                f"asked {model.name} for {_named(wanted)}: it failed ({error.code}): {error.message}"
            )
            return True
        merged = _merged(state.best, found, wanted, schema)
        verdict = await judged(self._gate, document, merged, schema)
        state.consider(merged, verdict, found, asked=wanted)
        return True


@dataclass
class _State:
    """The best so far, what the gate says of it, and how it came about.

    errors: of models that failed and can be asked later.
    """

    best: Extraction
    verdict: Verdict
    story: list[str] = field(default_factory=list[str])
    errors: list[TransientError | SetupError] = field(default_factory=list[TransientError | SetupError])

    @property
    def doubted(self) -> tuple[str, ...]:
        """The fields of checks that failed; not of those that the extractor itself found to fail."""
        own = set(self.best.failures)
        paths = (path for failure in self.verdict.failures if failure not in own for path in failure.fields)
        return tuple(dict.fromkeys(_INDEX.sub("[]", path) for path in paths))

    @property
    def model_error(self) -> TransientError | SetupError | None:
        """Why to ask models again later: the first failure of one that was asked, if any was."""
        if not self.doubted:
            return None
        return next((error for error in self.errors if error.attempted), next(iter(self.errors), None))

    def consider(
        self, merged: Extraction, verdict: Verdict, found: Extraction, *, asked: Sequence[str]
    ) -> None:
        """Take the merged values if fewer fields fail, or as many of which more have a value."""
        before, other = self.doubted, _State(merged, verdict)
        mended = [path for path in before if path not in other.doubted]
        if (len(other.doubted), -len(merged.evidence)) < (len(before), -len(self.best.evidence)):
            self.best, self.verdict = merged, verdict
            told = f"{_named(mended)} mended" if mended else "something found, not yet believed"
        else:
            self.best = self.best.model_copy(update={"failures": merged.failures})
            told = "nothing better"
        self.story.append(f"asked {found.reason} for {_named(asked)}: {told}")


def _choices(paths: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Which of the amounts to take: one of them first, then more together."""
    every = tuple(paths)
    for count in range(1, len(every) + 1):
        yield from combinations(every, count)


def _with_amounts(best: Extraction, others: Mapping[str, Other], schema: Schema) -> Extraction:
    data, evidence = best.data.model_dump(), dict(best.evidence)
    for path, (amount, proof) in others.items():
        _put(data, path, amount)
        evidence[path] = proof
    return best.model_copy(update={"data": filled(schema.fields, data), "evidence": evidence})


class _Values(NamedTuple):
    """Values and where they stand."""

    data: dict[str, Any]
    evidence: dict[str, Evidence]


def _merged(best: Extraction, found: Extraction, wanted: Sequence[str], schema: Schema) -> Extraction:
    """The best with what was found for the fields that were asked for, as far as it stands on the page."""
    kept = _Values(best.data.model_dump(), dict(best.evidence))
    new = found.data.model_dump()
    for path in wanted:
        if "[]" in path:
            _replace_list(kept, path.partition("[]")[0], new, found.evidence)
        else:
            _replace(kept, path, new, found.evidence)
    return best.model_copy(
        update={
            "data": filled(schema.fields, kept.data),
            "evidence": kept.evidence,
            "failures": _together(best.failures, found.failures),
        }
    )


def _replace(kept: _Values, path: str, new: Mapping[str, Any], evidence: Mapping[str, Evidence]) -> None:
    value, proof = _at(new, path), evidence.get(path)
    if value is None or proof is None or proof.match == "none":
        return
    old, known = _at(kept.data, path), kept.evidence.get(path)
    if known is not None and _same(old, value):
        # Two ways to the same value: what remains doubtful is how well it was recognised.
        if proof.confidence > known.confidence:
            kept.evidence[path] = proof
        return
    _put(kept.data, path, value)
    kept.evidence[path] = proof


def _replace_list(kept: _Values, path: str, new: Mapping[str, Any], evidence: Mapping[str, Evidence]) -> None:
    """All items at once: those of two readers cannot be told apart."""
    items = _at(new, path)
    if not items or any(evidence[one].match == "none" for one, _ in values(items, path) if one in evidence):
        return
    _put(kept.data, path, items)
    for one in [one for one in kept.evidence if one.startswith(f"{path}[")]:
        del kept.evidence[one]
    kept.evidence.update({one: proof for one, proof in evidence.items() if one.startswith(f"{path}[")})


def _at(data: Mapping[str, Any], path: str) -> object:
    node: object = data
    for name in path.split("."):
        if not isinstance(node, Mapping):
            return None
        node = cast("Mapping[str, object]", node).get(name)
    return node


def _put(data: dict[str, Any], path: str, value: object) -> None:
    *owners, leaf = path.split(".")
    for name in owners:
        inner = data.get(name)
        data[name] = dict(cast("Mapping[str, Any]", inner)) if isinstance(inner, Mapping) else {}
        data = data[name]
    data[leaf] = value


def _same(one: object, other: object) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return letters_and_digits(one) == letters_and_digits(other)
    return one == other


def _together(first: Sequence[Failure], second: Sequence[Failure]) -> tuple[Failure, ...]:
    return tuple(dict.fromkeys((*first, *second)))


def _named(paths: Sequence[str]) -> str:
    """Fields as a person calls them."""
    names = [path.replace("[]", "").replace("_", " ").replace(".", " ") for path in paths]
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
