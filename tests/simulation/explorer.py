"""Runs schedules and, for one that breaks a promise, finds a shorter one that breaks the same."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from random import Random

from simulation.kernel import Violation
from simulation.plan import Plan, plan_of
from simulation.world import Variant, World

PROTOCOL = Variant()
_THROWS = 20
"""How often a smaller plan is tried: other dice fall when a part is left out."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A broken promise. schedules: how many were tried until it was found."""

    seed: int
    kind: str
    schedules: int
    plan: Plan
    trace: tuple[str, ...]

    def __str__(self) -> str:
        lines = "\n".join(self.trace)
        return f"{self.kind} (seed {self.seed}, schedule {self.schedules})\n{self.plan}\n{lines}"


def explore(
    schedules: int, *, first_seed: int = 0, variant: Variant = PROTOCOL, kind: str | None = None
) -> Finding | None:
    """The first broken promise in so many schedules, in the shortest form that was found for it.

    kind: of the promise; None for any. A mistake may break several, by the dice one or another first.
    """
    random = Random()  # noqa: S311  it shuffles schedules
    for seed in range(first_seed, first_seed + schedules):
        random.seed(seed)
        try:
            (variant.world or World)(plan_of(random), random, variant, None).run()
        except Violation as violation:
            if kind not in (None, violation.kind):
                continue
            return replay(seed, variant=variant, kind=violation.kind, schedules=seed - first_seed + 1)
    return None


def replay(seed: int, *, variant: Variant = PROTOCOL, kind: str, schedules: int = 1) -> Finding:
    """What broke in the schedule of `seed`, made as small as leaving things out makes it."""
    random = Random(seed)  # noqa: S311
    plan = plan_of(random)
    trace = _broken(plan, random, variant, kind)
    assert trace is not None  # a seed decides everything
    smaller = True
    while smaller:
        smaller = False
        for candidate, dice in product(_smaller(plan), range(_THROWS)):
            shorter = _broken(candidate, Random(dice), variant, kind)  # noqa: S311
            if shorter is not None:
                plan, trace, smaller = candidate, shorter, True
                break
    return Finding(seed, kind, schedules, plan, tuple(trace))


def _broken(plan: Plan, random: Random, variant: Variant, kind: str) -> list[str] | None:
    """The trace, if the plan breaks the promise `kind`."""
    trace: list[str] = []
    try:
        (variant.world or World)(plan, random, variant, trace).run()
    except Violation as violation:
        if violation.kind == kind:
            return [*trace, f"=> {violation}"]
    return None


def _smaller(plan: Plan) -> Iterator[Plan]:
    for index in range(len(plan.faults)):
        yield replace(plan, faults=plan.faults[:index] + plan.faults[index + 1 :])
    if len(plan.documents) > 1:
        for index in range(len(plan.documents)):
            yield replace(plan, documents=plan.documents[:index] + plan.documents[index + 1 :])
    if plan.workers > 1:
        yield replace(plan, workers=plan.workers - 1)
    if plan.stalls:
        yield replace(plan, stalls=0)
    if plan.trouble:
        yield replace(plan, trouble=0)
    if plan.sweeper:
        yield replace(plan, sweeper=False)
    if plan.external_queue:
        yield replace(plan, external_queue=False)


def told(seed: int, *, variant: Variant = PROTOCOL) -> str:
    """What happens in the schedule of `seed`, line by line."""
    random = Random(seed)  # noqa: S311
    plan = plan_of(random)
    trace: list[str] = []
    try:
        (variant.world or World)(plan, random, variant, trace).run()
    except Violation as violation:
        trace.append(f"=> {violation}")
    return "\n".join([str(plan), *trace])
