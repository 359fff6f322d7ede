"""Redo: reviews that repeat what was undone last."""

from collections.abc import Sequence

from docmill.errors import ChangedError
from docmill.model.paths import value_at
from docmill.service.review.review import ReviewSession
from docmill.service.store.reviews import NOT_VALUES, SERIAL_NUMBER, TYPE, ReviewRow, ReviewToStore


def undos_to_redo(history: Sequence[ReviewRow]) -> list[ReviewRow]:
    """The undos that a redo takes back: the latest that were made at once. Empty after any new review.

    history: newest first. Choices of the type and archive serial numbers are no part of this.
    """
    redone = {row.redoes for row in history if row.redoes is not None}
    undos: list[ReviewRow] = []
    for row in history:
        if row.path in (TYPE, SERIAL_NUMBER) or row.redoes is not None or row.id in redone:
            continue
        if row.action != "undo" or (undos and row.at != undos[0].at):
            break
        undos.append(row)
    return undos


def redo_last(session: ReviewSession) -> list[ReviewToStore]:
    """The reviews that repeat what was undone last. Raises ChangedError if there is nothing to repeat."""
    undos = undos_to_redo(session.history)
    if not undos:
        raise ChangedError("There is nothing to redo: something else was reviewed since the undo.")
    reviews = {row.id: row for row in session.history}
    redone: list[ReviewToStore] = []
    for undo in reversed(undos):
        assert undo.undoes is not None, "every undo names a review"
        review = reviews[undo.undoes]
        is_value = undo.path not in NOT_VALUES
        redone.append(
            ReviewToStore(
                undo.path,
                review.action,
                review.value,
                value_at(session.data, undo.path) if is_value else undo.value,
                value_at(session.result.machine, undo.path),
                review.page,
                review.box,
                review.evidence,
                redoes=undo.id,
                reason=review.reason,
            )
        )
    return redone
