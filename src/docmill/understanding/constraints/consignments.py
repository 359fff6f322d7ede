"""Consignor and consignee, where the labels of sender and receiver do not mean seller and buyer."""

from collections.abc import Mapping

from docmill.understanding.page.labels import CONSIGNMENTS, Label
from docmill.understanding.vocabulary import Concept

_CONSIGNORS, _CONSIGNEES = (Concept.SHIP_FROM,), (Concept.SHIP_TO,)
_PARTIES = frozenset({Concept.SELLER, Concept.BUYER})


def with_consignment(
    labels: Mapping[int, Label[Concept]], texts: Mapping[int, str]
) -> dict[int, Label[Concept]]:
    """The labels of parties, in which sender and receiver are places of goods beside another seller or buyer.

    A carrier's invoice names all of them: `Bill to`, `Consignor`, `Consignee`. By index of the segment.
    """
    roles = {index: _role(texts[index][: label.stop]) for index, label in labels.items()}
    others = (label for index, label in labels.items() if not roles[index])
    is_consignment = {"sender", "receiver"} <= set(roles.values()) and any(
        not _PARTIES.isdisjoint(label.meanings) for label in others
    )
    if not is_consignment:
        return dict(labels)
    meanings = {"sender": _CONSIGNORS, "receiver": _CONSIGNEES}
    return {
        index: label._replace(meanings=meanings.get(roles[index], label.meanings))
        for index, label in labels.items()
    }


def _role(text: str) -> str:
    """Whom a label names: `sender`, `receiver` or neither, which is ""."""
    found = CONSIGNMENTS.find(text)
    is_only = len(found) == 1 and not any(map(str.isalnum, text[: found[0].start] + text[found[0].stop :]))
    return found[0].meanings[0] if is_only else ""
