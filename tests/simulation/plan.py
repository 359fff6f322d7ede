"""What a schedule is about: documents, processes and faults, drawn from a seed."""

from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from docmill.errors import (
    CorruptError,
    MisconfiguredError,
    NetworkError,
    RateLimitedError,
    ServerError,
    SetupError,
    TransientError,
)
from simulation.store import LATE_S, PATIENCE_S, Behaviour
from simulation.worker import PAUSE_S

_SETTLED_S = 10

FINE = Behaviour("fine", (20, 20))
ODD = Behaviour("refused where others get through", (10, 5), MisconfiguredError("odd"))
BEHAVIOURS: tuple[tuple[Behaviour, ...], ...] = (
    (FINE,),
    (FINE,),
    (FINE,),
    (Behaviour("quick", (0, 0)),),
    (Behaviour("longer than the lease", (200, 400)),),
    (Behaviour("one failure", (10, 0), ServerError("down")), FINE),
    (Behaviour("always failing", (0, 10), ServerError("down")),),
    (Behaviour("slowed down", (5, 5), RateLimitedError("slow", retry_after_s=120)), FINE),
    (Behaviour("broken", (10, 0), CorruptError("broken")),),
    (Behaviour("no key", (10, 5), MisconfiguredError("no key")),) * 2 + (FINE,),
    (Behaviour("no key for long", (5, 5), MisconfiguredError("no key")),) * 4 + (FINE,),
    (Behaviour("not asked", (5, 0), NetworkError("not asked", retry_after_s=30, attempted=False)),) * 4
    + (FINE,),
    (Behaviour("left alone for long", (0, 5), NetworkError("not asked", retry_after_s=30, attempted=False)),)
    * 30
    + (FINE,),
    (ODD,),
    (Behaviour("asks a model", (5, 5), asks_model=True),),
    (Behaviour("asks a model", (5, 5), asks_model=True),),
    (Behaviour("asks a model that no rules replace", (5, 5), asks_model=True, by_rules=False),),
    (Behaviour("fatal", (10, 0), fatal=True),),
    (Behaviour("fatal once", (10, 0), fatal=True), FINE),
)


class Fault(NamedTuple):
    """kind: see `World`. target: which worker or service."""

    at: int
    kind: str
    target: int
    for_s: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What a schedule is about. documents: when each arrives, and how it behaves."""

    documents: tuple[tuple[int, tuple[Behaviour, ...]], ...]
    workers: int
    external_queue: bool
    sweeper: bool
    trouble: float
    stalls: float
    faults: tuple[Fault, ...]

    @property
    def is_calm(self) -> bool:
        """Whether nothing goes wrong but the documents themselves."""
        return not (
            self.faults
            or self.trouble
            or self.stalls
            or self.external_queue
            or any(behaviour.fatal or behaviour is ODD for _, run in self.documents for behaviour in run)
        )

    @property
    def models_stay_away(self) -> bool:
        """Whether documents may have to wait for a model."""
        return any(fault.kind == "model outage" for fault in self.faults)

    @property
    def calm_s(self) -> int:
        """By when all is done if the plan is calm: no wait is as long as a lease."""
        runs = [behaviour for _, run in self.documents for behaviour in (*run, *run[-1:] * 2)]
        return 80 + sum(sum(run.work_s) + _SETTLED_S + _delay_s(run) for run in runs)


def _delay_s(behaviour: Behaviour) -> int:
    match behaviour.error:
        case TransientError(retry_after_s=asked_s):
            return int(asked_s or 90)
        case SetupError():
            return 24 * PAUSE_S  # doubled up to sixteen times, and prolonged for who was refused
        case _:
            return 0


KINDS = (
    "kill",
    "suspend",
    "suspend",
    "stop",
    "deploy",
    "outage",
    "outage",
    "model outage",
    "kill web",
    "lose messages",
)
_OF_MODELS_S = (700, PATIENCE_S + 500, 2 * PATIENCE_S + LATE_S)
"""How long models stay away: for less than a document waits, for somewhat longer, and far too long."""


def plan_of(random: Random) -> Plan:
    """A plan as the dice fall."""
    below = random.randrange
    calm = random.random() < 0.2
    sweeper = random.random() < 0.4
    faults = () if calm else tuple(sorted(_fault(random, sweeper=sweeper) for _ in range(below(5))))
    return Plan(
        documents=tuple((below(60), BEHAVIOURS[below(len(BEHAVIOURS))]) for _ in range(1 + below(3))),
        workers=1 + below(3),
        external_queue=random.random() < 0.5,
        sweeper=sweeper,
        trouble=0 if calm else (0, 0.02, 0.1)[below(3)],
        stalls=0 if calm else (0, 0.02)[below(2)],
        faults=faults,
    )


def _fault(random: Random, *, sweeper: bool) -> Fault:
    kind = KINDS[random.randrange(len(KINDS) if sweeper else len(KINDS) - 1)]
    lengths_s = _OF_MODELS_S if kind == "model outage" else (5, 40, 290, 310, 700)
    return Fault(random.randrange(400), kind, random.randrange(3), random.choice(lengths_s))
