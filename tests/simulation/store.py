"""The rows that the protocol guards, and who may truly write them, whatever the protocol believes.

A row's `entitled` is the number of the claim that holds it; the protocol does not see it. Every write is
checked against it.
"""

from dataclasses import dataclass, field

from docmill.errors import DocmillError, DocumentError, TransientError
from docmill.service.protocol.claim_rules import Obstacle
from simulation.kernel import Kernel, Process, Violation
from support import claim_predicates

PATIENCE_S = 3_000
"""How long a document waits for a model. All other faults are over by then."""

LATE_S = 1_200
"""How much later its turn may come, when it must share its worker with others, of which some kill it."""


class Row:
    """An ingestion. behaviours: what becomes of each run of it, the last one for ever.

    entitled: number of the claim that may write, 0 for none. claims, free: how many there were, and how many
    of them were no attempts. effects: how often a result was stored. kills: how many workers it killed.
    lost_alone: how many of its claims were lost while their worker had nothing else in work. waits_from: when
    it was first left to wait for a model, whatever `waiting_since` says; waits: whether it was so last, too.
    """

    __slots__ = (
        "attempt_count",
        "behaviours",
        "claims",
        "deaths",
        "effects",
        "entitled",
        "fence",
        "free",
        "has_letter",
        "journal",
        "kills",
        "last",
        "lease_until",
        "lost_alone",
        "messages",
        "name",
        "next_attempt_at",
        "outbox",
        "runs",
        "status",
        "waiting_since",
        "waits",
        "waits_from",
    )

    def __init__(self, name: str, behaviours: tuple["Behaviour", ...]) -> None:
        self.name = name
        self.behaviours = behaviours
        self.status = "absent"
        self.fence = 0
        self.attempt_count = 0
        self.lease_until: int | None = None
        self.next_attempt_at: int | None = None
        self.journal = 0
        self.has_letter = False
        self.outbox = 0
        self.messages = 0
        self.entitled = 0
        self.claims = 0
        self.free = 0
        self.deaths = 0
        self.kills = 0
        self.lost_alone = 0
        self.effects = 0
        self.runs = 0
        self.last: Claim | None = None
        self.forget_waiting()

    def forget_waiting(self) -> None:
        """Nothing has been waited for."""
        self.waiting_since: int | None = None
        self.waits_from: int | None = None
        self.waits = False


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What a run of a document does. error: after the work; fatal: it kills its worker.

    asks_model: after the work, which fails while the model stays away. by_rules: whether there is a result
    without the model.
    """

    name: str
    work_s: tuple[int, int]
    error: DocmillError | None = None
    fatal: bool = False
    asks_model: bool = False
    by_rules: bool = True


@dataclass(slots=True, eq=False)
class Claim:
    """What a worker knows of its claim, and the `number` it has in truth.

    in_company: whether its process worked on something else at any time of it. is_free: whether it ended
    without having been an attempt. message_lost: its message is, and nothing has been done about that.
    waited_s: as the database says, for a model.
    """

    row: Row
    process: Process
    fence: int
    attempt: int
    number: int
    believed_until: int
    waited_s: int = 0
    working: bool = True
    in_company: bool = False
    is_free: bool = False
    message_lost: bool = False


@dataclass(slots=True, eq=False)
class Unsent:
    """A row of the outbox. locked_by: the transaction that has it."""

    row: Row
    locked_by: "Lock | None" = None


@dataclass(slots=True, eq=False)
class Lock:
    """A transaction that has locked rows. It ends with its process."""

    process: Process
    ended: bool = False

    def holds(self) -> bool:
        return self.process.alive and not self.ended


@dataclass(slots=True, eq=False)
class Store:
    """The database. Every method is one transaction."""

    kernel: Kernel
    lease_s: int
    max_attempts: int
    rows: list[Row] = field(default_factory=list[Row])
    unfinished: int = 0
    outbox: list["Unsent"] = field(default_factory=list["Unsent"])

    def insert(self, row: Row) -> bool:
        """Accept the document. False if it was accepted before."""
        if row.status != "absent":
            return False
        self.kernel.note("{} is accepted", row.name)
        row.status = "in-progress"
        return True

    def put_outbox(self, row: Row) -> None:
        row.outbox += 1
        self.outbox.append(Unsent(row))

    def lock_outbox(self, lock: Lock) -> list[Unsent]:
        """Rows that no other transaction has."""
        found = [unsent for unsent in self.outbox if not (unsent.locked_by and unsent.locked_by.holds())]
        for unsent in found:
            unsent.locked_by = lock
        return found

    def delete_outbox(self, unsent: list[Unsent]) -> None:
        for each in unsent:
            if each in self.outbox:
                self.outbox.remove(each)
                each.row.outbox -= 1

    def idle(self) -> list[Row]:
        """Unfinished ingestions that nobody holds and whose next attempt is due."""
        now = self.kernel.now
        return [
            row
            for row in self.rows
            if row.status == "in-progress"
            and not claim_predicates.is_leased(row, now)
            and (row.next_attempt_at is None or row.next_attempt_at <= now)
        ]

    def give_back(self) -> list[Row]:
        """Free what dead processes held; each is a suspect from now on."""
        freed = [row for row in self.rows if row.entitled and row.last and not row.last.process.alive]
        for row in freed:
            self.kernel.note("{} is taken out of dead hands", row.name)
            self.count_death(row)
            row.lease_until = None
            row.entitled = 0
            self.next_fence(row)
        return freed

    def bury(self, row: Row) -> bool:
        """Fail an ingestion whose message died. False while somebody works on it."""
        if row.status != "in-progress":
            return True
        if claim_predicates.is_leased(row, self.kernel.now):
            return False
        self._end(row, "failed")
        self.write_letter(row)
        row.fence += 1
        return True

    def may_claim(self, row: Row, *, alone: bool) -> bool:
        return claim_predicates.may_claim(row, self.kernel.now, self.max_attempts, alone=alone)

    def holds(self, claim: Claim) -> bool:
        return claim_predicates.holds(claim.row, claim.fence)

    def may_give_up(self, row: Row) -> bool:
        return claim_predicates.may_give_up(row, self.kernel.now, self.max_attempts)

    def take(self, row: Row, process: Process, *, alone: bool = False) -> Claim | None:
        if not self.may_claim(row, alone=alone):
            self.kernel.note("{} cannot claim {}", process.name, row.name)
            return None
        self._check_takeover(row)
        now = self.kernel.now
        if row.next_attempt_at is not None and row.next_attempt_at > now:
            raise Violation("tried again too early", row.name)
        self.check_patience(row)
        if claim_predicates.was_lost(row, now):
            self.count_death(row)
        self.count_claim(row)
        self.next_fence(row)
        row.lease_until = now + self.lease_s
        row.next_attempt_at = None
        row.claims += 1
        row.entitled = row.claims
        self.kernel.note(
            "{} claims {} (attempt {}, fence {})", process.name, row.name, row.attempt_count, row.fence
        )
        claim = Claim(
            row, process, row.fence, row.attempt_count, row.claims, now + self.lease_s, self.waited_s(row)
        )
        row.last = claim
        return claim

    def count_claim(self, row: Row) -> None:
        row.attempt_count += 1

    def count_death(self, row: Row) -> None:
        """The last claim was lost: it was no attempt."""
        if row.last is not None and row.last.message_lost and row.last.process.alive:
            raise Violation("a living worker was taken for dead", row.name)
        row.deaths += 1
        self.refund(row)
        row.free += 1
        row.lost_alone += row.last is not None and not row.last.in_company

    def next_fence(self, row: Row) -> None:
        row.fence += 1

    def _check_takeover(self, row: Row) -> None:
        last = row.last
        if last is None or not last.working or row.entitled != last.number:
            return
        if last.process.alive and last.process.suspended_until <= self.kernel.now < last.believed_until:
            raise Violation("taken from a living worker", row.name)

    def obstacle(self, row: Row) -> Obstacle | None:
        if row.status == "absent":
            return None
        return claim_predicates.obstacle_of(row, self.kernel.now, self.max_attempts)

    def extend(self, claim: Claim) -> bool:
        if not self.holds(claim):
            return False
        self.write(claim)
        claim.row.lease_until = self.kernel.now + self.lease_s
        return True

    def progress(self, claim: Claim) -> bool:
        return self.holds(claim)

    def finish(self, claim: Claim, *, by_rules: bool = False) -> bool:
        row = claim.row
        if not self.holds(claim):
            self.kernel.note(
                "{} cannot store the result of {}: its claim is lost", claim.process.name, row.name
            )
            return False
        self.write(claim)
        if by_rules and row.claims - row.free < self.max_attempts:
            self.check_waited(row)
        row.effects += 1
        if row.effects > 1:
            raise Violation("stored twice", row.name)
        self._end(row, "completed")
        return True

    def fail(self, claim: Claim, error: DocmillError) -> bool:
        row = claim.row
        if not self.holds(claim):
            return False
        self.write(claim)
        self._end(row, "failed")
        self.write_letter(row)
        row.free += claim.is_free
        if isinstance(error, TransientError) and claim.is_free:
            self.check_waited(row)
        elif not isinstance(error, DocumentError):
            self._check_attempts(row)
        return True

    def give_up(self, row: Row) -> bool:
        if not self.may_give_up(row):
            return False
        self._check_takeover(row)
        if claim_predicates.was_lost(row, self.kernel.now):
            self.count_death(row)
        self._end(row, "failed")
        self.write_letter(row)
        row.fence += 1
        if row.deaths > self.max_attempts > row.lost_alone:
            raise Violation("blamed for the death of others", row.name)
        if row.deaths <= self.max_attempts:
            self._check_attempts(row)
        return True

    def write_letter(self, row: Row) -> None:
        row.has_letter = True

    def set_back(
        self, claim: Claim, delay_s: int, *, counts: bool, error: DocmillError | None = None
    ) -> bool:
        row = claim.row
        if not self.holds(claim):
            return False
        self.write(claim)
        self.kernel.note("{} gives up its claim of {}", claim.process.name, row.name)
        row.lease_until = None
        self.next_fence(row)
        row.next_attempt_at = self.kernel.now + delay_s
        row.entitled = 0
        self.note_wait(row, waits=isinstance(error, TransientError) and not counts)
        if claim.is_free or not counts:
            row.free += 1
        if not counts:
            self.refund(row)
        return True

    def note_wait(self, row: Row, *, waits: bool) -> None:
        row.waits = waits
        if waits:
            if row.waits_from is None:
                row.waits_from = self.kernel.now
            self.begin_waiting(row)

    def begin_waiting(self, row: Row) -> None:
        if row.waiting_since is None:
            row.waiting_since = self.kernel.now

    def waited_s(self, row: Row) -> int:
        return 0 if row.waiting_since is None else self.kernel.now - row.waiting_since

    def check_patience(self, row: Row) -> None:
        """What has waited for a model must have ended by now."""
        if (
            row.waits
            and row.waits_from is not None
            and self.kernel.now - row.waits_from > PATIENCE_S + LATE_S
        ):
            raise Violation("a model was waited for too long", row.name)

    def check_waited(self, row: Row) -> None:
        """Only what has waited long enough may end without its model."""
        if row.waits_from is None or self.kernel.now - row.waits_from < PATIENCE_S:
            raise Violation("ended without its model too early", row.name)

    def refund(self, row: Row) -> None:
        row.attempt_count -= 1

    def write(self, claim: Claim) -> None:
        """Check that the writer is the one entitled to."""
        if claim.row.entitled != claim.number:
            raise Violation("a stale owner wrote", f"{claim.process.name} on {claim.row.name}")

    def _end(self, row: Row, status: str) -> None:
        self.kernel.note("{} is {}", row.name, status)
        row.status = status
        row.lease_until = None
        row.entitled = 0
        self.unfinished -= 1

    def _check_attempts(self, row: Row) -> None:
        """Only a document's own error may end it before all attempts were made."""
        if row.claims - row.free < self.max_attempts:
            raise Violation("failed before its attempts were used up", row.name)

    def get_journal(self, row: Row) -> int:
        return row.journal

    def put_journal(self, row: Row, writer: int) -> None:
        """Write-once."""
        before = row.journal
        self.write_journal(row, writer)
        if before and row.journal != before:
            raise Violation("a stored transcription changed", row.name)

    def write_journal(self, row: Row, writer: int) -> None:
        row.journal = row.journal or writer

    def note_death(self, row: Row) -> None:
        row.kills += 1
        if row.kills > self.max_attempts + 1:
            raise Violation("a document killed too many workers", row.name)
