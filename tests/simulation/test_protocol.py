"""The protocol against everything that may happen to it, and the tools that try it against themselves."""

import pytest

from simulation.explorer import explore, replay, told
from simulation.mutations import MUTATIONS, UNREACHABLE

ENOUGH = 4_000


def test_no_schedule_breaks_a_promise() -> None:
    assert explore(ENOUGH) is None


@pytest.mark.parametrize("mistake", MUTATIONS)
def test_each_mistake_in_the_protocol_is_found(mistake: str) -> None:
    variant, kind = MUTATIONS[mistake]

    finding = explore(ENOUGH, variant=variant)

    assert finding is not None
    assert finding.kind == kind


def test_a_finding_is_replayed_by_its_seed_and_tells_what_happened() -> None:
    variant, _ = MUTATIONS["the message of a claimed ingestion is deleted"]
    finding = explore(ENOUGH, first_seed=1000, variant=variant)
    assert finding is not None

    again = replay(finding.seed, variant=variant, kind=UNREACHABLE)

    assert (again.plan, again.trace) == (finding.plan, finding.trace)
    assert len(finding.plan.documents) <= 2
    assert not finding.plan.faults
    assert finding.trace[-1].startswith(f"=> {UNREACHABLE}")
    assert f"seed {finding.seed}" in str(finding)


def test_every_schedule_can_be_told() -> None:
    variant, kind = MUTATIONS["the message is deleted before the result is stored"]

    assert "is completed" in told(4)
    assert f"=> {kind}" in told(0, variant=variant)
