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
"""So many fields are named in a sentence."""


class StepTaken(Record):
    """One step on the way to an extraction.

    kind: `read` all fields without what came before; `confirmed`, `cleared` fields as people did on earlier
    documents; `looked_again` at the places of doubted fields; `asked`, `failed`, `not_asked`: a model for
    doubted fields; `given_up` on models that took too long; `not_classified`: a model that was to tell the
    type failed. by: who did it, as a person knows them. note: the circumstances. without_model: what is true
    as long as no later step asks a model. fields: paths it was about. mended: those of them that the gate
    believed afterwards. is_better: whether its values were taken.
    """

    kind: StepKind
    by: str = ""
    note: str = ""
    without_model: str = ""
    fields: tuple[str, ...] = ()
    mended: tuple[str, ...] = ()
    is_better: bool = False


def sentence(steps: Sequence[StepTaken]) -> str:
    """Explain the steps in a sentence."""
    asked = any(step.kind in _MODEL_ASKED for step in steps)
    return "; ".join(filter(None, (_clause(step, asked=asked) for step in steps)))


def _clause(step: StepTaken, *, asked: bool) -> str:
    match step.kind:
        case "read":
            notes = [step.note, "" if asked else step.without_model]
            words = ": ".join(filter(None, (step.by, " and ".join(filter(None, notes)))))
        case "confirmed":
            words = f"{_values(step)} as people confirmed before"
        case "cleared":
            words = f"{_values(step)} left out where people cleared them before"
        case "looked_again":
            words = f"looked again at {_names(step.fields)}: {_outcome(step)}"
        case "asked":
            words = f"asked {step.by} for {_names(step.fields)}: {_outcome(step)}"
        case "failed":
            words = f"asked {step.by} for {_names(step.fields)}: it failed {step.note}"
        case "not_asked":
            words = f"{step.by} not asked: {step.note}"
        case "given_up":
            words = f"given up {step.note}"
        case "not_classified":
            words = f"no model said what it is: it failed {step.note}"
    return words


def _values(step: StepTaken) -> str:
    count = len(step.fields)
    return f"{count} {'value' if count == 1 else 'values'}"


def _outcome(step: StepTaken) -> str:
    if step.mended:
        return f"{_names(step.mended)} mended"
    is_taken = step.is_better and step.kind == "asked"
    return "something found, not yet believed" if is_taken else "nothing better"


def _names(paths: Sequence[str]) -> str:
    """Fields as a person calls them."""
    names = [path.replace("[]", "").replace("_", " ").replace(".", " ") for path in paths]
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
