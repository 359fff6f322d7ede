"""Records of the steps of an extraction, and the sentence that explains them to a person."""

from collections.abc import Sequence
from typing import Literal

from docmill.model.document import Record

StepKind = Literal[
    "read",
    "confirmed",
    "cleared",
    "looked_again",
    "asked",
    "failed",
    "not_asked",
    "given_up",
    "not_classified",
]
_MODEL_ASKED = frozenset({"asked", "failed", "given_up"})
_LISTED = 6
"""Most fields that are named in a sentence."""


class StepTaken(Record):
    """One step on the way to an extraction.

    kind: `read` all fields without what came before; `confirmed`, `cleared` fields as people did on earlier
    documents; `looked_again` at the places of doubted fields; `asked`, `failed`, `not_asked`: a model for
    doubted fields; `given_up` on models that took too long; `not_classified`: a model that was to tell the
    type failed. by: who did it, as a person knows them. note: the circumstances. without_model: what is true
    as long as no later step asks a model. fields: paths it was about. mended: those of them that the gate
    believed afterwards. is_better: whether its values were taken. is_from_xml: whether it read the embedded
    XML, whose values are certain.
    """

    kind: StepKind
    by: str = ""
    note: str = ""
    without_model: str = ""
    fields: tuple[str, ...] = ()
    mended: tuple[str, ...] = ()
    is_better: bool = False
    is_from_xml: bool = False


def sentence(steps: Sequence[StepTaken]) -> str:
    """Explain the steps in a sentence."""
    is_model_asked = any(step.kind in _MODEL_ASKED for step in steps)
    return "; ".join(filter(None, (_clause(step, is_model_asked=is_model_asked) for step in steps)))


def _clause(step: StepTaken, *, is_model_asked: bool) -> str:
    fields = _names(step.fields)
    values = f"{len(step.fields)} {'value' if len(step.fields) == 1 else 'values'}"
    if step.mended:
        outcome = f"{_names(step.mended)} mended"
    else:
        is_taken = step.is_better and step.kind == "asked"
        outcome = "something found, not yet believed" if is_taken else "nothing better"
    notes = " and ".join(filter(None, (step.note, "" if is_model_asked else step.without_model)))
    clauses: dict[StepKind, str] = {
        "read": ": ".join(filter(None, (step.by, notes))),
        "confirmed": f"{values} as people confirmed before",
        "cleared": f"{values} left out where people cleared them before",
        "looked_again": f"looked again at {fields}: {outcome}",
        "asked": f"asked {step.by} for {fields}: {outcome}",
        "failed": f"asked {step.by} for {fields}: it failed {step.note}",
        "not_asked": f"{step.by} not asked: {step.note}",
        "given_up": f"given up {step.note}",
        "not_classified": f"no model said what it is: it failed {step.note}",
    }
    return clauses[step.kind]


def _names(paths: Sequence[str]) -> str:
    """Fields as a person calls them."""
    names = [path.replace("[]", "").replace("_", " ").replace(".", " ") for path in paths]
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
