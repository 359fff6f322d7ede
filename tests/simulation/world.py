"""The world in which a plan happens: clients, processes, and what befalls them."""

from dataclasses import dataclass
from functools import partial
from random import Random

from docmill.errors import ServerError
from simulation.kernel import DATABASE, FILES, MODEL, QUEUE, Kernel, Process, Steps, Violation
from simulation.plan import FINE, ODD, Fault, Plan
from simulation.queue import Queue, SqsQueue
from simulation.store import Behaviour, Lock, Row, Store, Unsent
from simulation.worker import Worker

LEASE_S = 300
MAX_ATTEMPTS = 3
FAULTS_END_S = 1200
_SWEEP_S = 90
_RELAY_S = 60
_RETRY_S = 5
_RESTART_S = 20
_OTHERS_S = 120
_LONGEST_S = 25_000
_MAX_RECEIVES = 24


class Intake:
    """How documents get in and their messages out. A variant of the protocol replaces a method."""

    def __init__(self, store: Store, queue: Queue, *, external_queue: bool) -> None:
        self.store = store
        self.queue = queue
        self.external_queue = external_queue

    def accept(self, row: Row) -> Steps:
        yield (FILES, int, ())
        yield (DATABASE, self.commit, (row,))

    def commit(self, row: Row) -> None:
        if self.store.insert(row):
            self.put(row)

    def put(self, row: Row) -> None:
        """Have a message sent with the transaction."""
        (self.store.put_outbox if self.external_queue else self.queue.send)(row)

    def relay(self, process: Process) -> Steps:
        """Send what the outbox holds."""
        lock = Lock(process)
        try:
            unsent: list[Unsent] = yield (DATABASE, self.store.lock_outbox, (lock,))
            if unsent:
                yield from self.pass_on(unsent)
        except ServerError:
            return
        finally:
            lock.ended = True

    def pass_on(self, unsent: list[Unsent]) -> Steps:
        for each in unsent:
            yield (QUEUE, self.queue.send, (each.row,))
        yield (DATABASE, self.store.delete_outbox, (unsent,))


@dataclass(frozen=True, slots=True)
class Variant:
    """The protocol, or a mutation of it. max_receives: small, so that the queue's own dead appear."""

    store: type[Store] = Store
    queue: type[Queue] = Queue
    external_queue: type[SqsQueue] = SqsQueue
    worker: type[Worker] = Worker
    intake: type[Intake] = Intake
    sweeps: bool = True
    world: "type[World] | None" = None


class World:
    """One schedule."""

    def __init__(self, plan: Plan, random: Random, variant: Variant, trace: list[str] | None) -> None:
        self.plan = plan
        self.kernel = kernel = Kernel(random, trouble=plan.trouble, stalls=plan.stalls, trace=trace)
        self.store = variant.store(kernel, LEASE_S, MAX_ATTEMPTS)
        queue = variant.external_queue if plan.external_queue else variant.queue
        self.queue = queue(kernel, LEASE_S, _MAX_RECEIVES if plan.sweeper and variant.sweeps else 10_000)
        self.intake = variant.intake(self.store, self.queue, external_queue=plan.external_queue)
        self.variant = variant
        self.init = Process("init")
        self.web = Process("web")
        self.workers: list[Worker] = []
        self.started = 0
        self.prepare()

    def prepare(self) -> None:
        """Change what is not as in the protocol of ingestions."""

    def new_row(self, name: str, behaviours: tuple[Behaviour, ...]) -> Row:
        return Row(name, behaviours)

    @property
    def sweeps(self) -> bool:
        """Whether there is a sweeper."""
        return self.plan.sweeper and self.variant.sweeps

    def deadline_s(self, plan: Plan) -> int:
        """When all must be over."""
        return plan.calm_s if plan.is_calm else _LONGEST_S

    def run(self) -> None:
        """Raises Violation."""
        kernel, plan = self.kernel, self.plan
        for number, (at, behaviours) in enumerate(plan.documents, 1):
            row = self.new_row(f"document {number} ({behaviours[0].name})", behaviours)
            self.store.rows.append(row)
            kernel.spawn(self.init, self._client(row), delay_s=at)
            if ODD in behaviours:
                kernel.spawn(self.init, self._others(row), delay_s=at)
        self.store.unfinished = len(self.store.rows)
        self.workers = [self._started_worker() for _ in range(plan.workers)]
        for fault in plan.faults:
            kernel.spawn(self.init, self._befall(fault), delay_s=fault.at)
        if not plan.is_calm:
            kernel.spawn(self.init, self._peace(), delay_s=FAULTS_END_S)
        kernel.run(self._quiet, deadline=self.deadline_s(plan))
        for row in self.store.rows:
            self.check(row)

    def _quiet(self) -> bool:
        return not (
            self.store.unfinished
            or self.queue.messages
            or self.kernel.jobs
            or self.store.outbox
            or self.queue.dead
        )

    def check(self, row: Row) -> None:
        if row.has_letter != (row.status == "failed"):
            raise Violation("a failed document has no dead letter", row.name)
        if (row.effects == 1) != (row.status == "completed"):
            raise Violation("completed without a result", row.name)

    def _client(self, row: Row) -> Steps:
        """Somebody who uploads until it is answered."""
        while True:
            done: list[bool] = []
            uploading = self.kernel.spawn(self.web, self._upload(row, done))
            while not uploading.done:
                yield 3
            if done:
                return
            yield _RETRY_S

    def _others(self, odd: Row) -> Steps:
        """Documents that get through where the odd one is refused, until it has ended."""
        while odd.status in {"absent", "in-progress"}:
            yield _OTHERS_S
            row = self.new_row(f"document {len(self.store.rows) + 1} ({FINE.name})", (FINE,))
            self.store.rows.append(row)
            self.store.unfinished += 1
            self.kernel.spawn(self.init, self._client(row))

    def _upload(self, row: Row, done: list[bool]) -> Steps:
        try:
            yield from self.intake.accept(row)
        except ServerError:
            return
        done.append(True)
        if self.plan.external_queue:
            yield from self.intake.relay(self.web)

    def _started_worker(self) -> Worker:
        self.started += 1
        process = Process(f"worker {self.started}")
        worker = self.variant.worker(self.kernel, self.store, self.queue, process)
        process.at_death = partial(self._replace, worker)
        self.kernel.spawn(process, worker.poll())
        if self.plan.external_queue:
            self.kernel.spawn(process, self._relaying(process), delay_s=_RELAY_S)
        if self.sweeps:
            self.kernel.spawn(process, self._sweeping(), delay_s=_SWEEP_S)
        return worker

    def _replace(self, worker: Worker) -> None:
        def start() -> Steps:
            self.workers[self.workers.index(worker)] = self._started_worker()
            yield 0

        self.kernel.spawn(self.init, start(), delay_s=_RESTART_S)

    def _relaying(self, process: Process) -> Steps:
        while not process.stopping:
            if self.store.outbox:
                yield from self.intake.relay(process)
            yield _RELAY_S

    def _sweeping(self) -> Steps:
        """Free what dead workers held, send what has no message, fail what died in the queue."""
        while True:
            try:
                freed: list[Row] = yield (DATABASE, self.store.give_back, ())
                for row in freed:
                    yield (QUEUE, self.queue.send, (row,))
                idle: list[Row] = yield (DATABASE, self.store.idle, ())
                for row in idle:
                    if not (yield (QUEUE, self.queue.has_message, (row,))):
                        yield (QUEUE, self.queue.send, (row,))
                for row in self.queue.dead.copy():
                    if (yield (DATABASE, self.store.bury, (row,))):
                        yield (QUEUE, self.queue.purge, (row,))
            except ServerError:
                pass
            yield _SWEEP_S

    def _peace(self) -> Steps:
        """From now on nothing goes wrong."""
        self.kernel.trouble = self.kernel.stalls = 0
        yield 0

    def _befall(self, fault: Fault) -> Steps:
        kernel, kind = self.kernel, fault.kind
        process = self.workers[fault.target % len(self.workers)].process
        until = kernel.now + fault.for_s
        if kind == "kill":
            kernel.note("{} is killed", process.name)
            kernel.kill(process)
        elif kind == "suspend":
            kernel.note("{} is suspended for {} s", process.name, fault.for_s)
            process.suspended_until = max(process.suspended_until, until)
        elif kind == "stop":
            yield from self._stop(fault.target % len(self.workers))
        elif kind == "deploy":
            for _ in range(MAX_ATTEMPTS):
                for index in range(len(self.workers)):
                    kernel.spawn(self.init, self._stop(index))
                yield 150
        elif kind == "outage":
            kernel.note(
                "the {} is out for {} s", ("database", "queue", "file store")[fault.target], fault.for_s
            )
            kernel.out_until[fault.target] = until
        elif kind == "model outage":
            kernel.note("the model stays away for {} s", fault.for_s)
            kernel.out_until[MODEL] = max(kernel.out_until[MODEL], until)
        elif kind == "kill web":
            kernel.note("the web process is killed")
            kernel.kill(self.web)
            self.web = Process("web")
        else:
            self.queue.lose()
        yield 0

    def _stop(self, index: int) -> Steps:
        worker = self.workers[index]
        if worker.process.alive and worker.process.at_death is not None:
            self.kernel.note("{} is asked to stop", worker.process.name)
            worker.process.at_death = None
            self.kernel.spawn(worker.process, worker.stop())
            yield _RESTART_S
            self.workers[index] = self._started_worker()
