"""Prometheus metrics of one process. No label holds a tenant, a document or a name."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import cache
from importlib.metadata import version
from types import MappingProxyType
from typing import Literal, Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from docmill.model.document import Usage
from docmill.resilience.concurrency import cancel_and_wait

Outcome = Literal["completed", "needs_review", "failed", "retried", "lost", "released", "unsettled"]
"""The end of an attempt. `lost`: another worker took over; `released`: given back because this one stops;
`unsettled`: its end could not be stored, and another worker takes it when the lease is over."""

MatchingOutcome = Literal["succeeded", "failed", "retried", "lost", "released", "unsettled"]
"""The end of a delivery of a document to be matched. `retried`: another delivery follows."""

NO_TIMINGS: Mapping[str, float] = MappingProxyType({})

_FINISHED = frozenset({"completed", "needs_review", "failed"})
_STEP_BUCKETS_S = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 90, 300, 600)
_LAG_BUCKETS_S = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3)
_LAG_EVERY_S = 0.5


class PoolUse(Protocol):
    """The use of a process pool, for the metrics."""

    @property
    def workers(self) -> int:
        """The number of tasks that it can run at a time."""
        ...

    @property
    def busy(self) -> int:
        """The number of tasks that run now."""
        ...

    @property
    def waiting(self) -> int:
        """The number of tasks that wait for their turn."""
        ...


class Metrics:
    """The metrics of one process. They have a registry of their own, so several can exist in one process."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self._documents = Counter(
            "docmill_documents",
            "Attempts by how they ended, and the code of the error that ended them",
            ("outcome", "code"),
            registry=registry,
        )
        self._attempts = Counter("docmill_attempts", "Attempts begun: documents claimed", registry=registry)
        self._attempts_needed = Histogram(
            "docmill_document_attempts",
            "Attempts that a finished document took",
            buckets=(1, 2, 3, 5, 10),
            registry=registry,
        )
        self._durations = Histogram(
            "docmill_attempt_duration_seconds",
            "From the claim to the end of the attempt",
            buckets=_STEP_BUCKETS_S,
            registry=registry,
        )
        self._steps = Histogram(
            "docmill_step_duration_seconds",
            "Steps of attempts that came to a result",
            ("step",),
            buckets=_STEP_BUCKETS_S,
            registry=registry,
        )
        self._tokens = Counter(
            "docmill_tokens", "Tokens of language models", ("direction", "model"), registry=registry
        )
        self._cost = Counter(
            "docmill_cost_usd", "Cost of language models in US dollars", ("model",), registry=registry
        )
        self._matchings, self._matching_durations = _matching_metrics(registry)
        self._in_flight = Gauge("docmill_jobs_in_flight", "Documents in work now", registry=registry)
        self._pauses = Counter(
            "docmill_pauses",
            "Errors that a person must mend before documents that need a part go on",
            ("code",),
            registry=registry,
        )
        self._notifications = Counter(
            "docmill_notifications",
            "Messages about failures, by channel",
            ("channel", "outcome"),
            registry=registry,
        )
        self._webhook_attempts = Counter(
            "docmill_webhook_attempts",
            "Attempts to send events to webhooks by their outcome",
            ("outcome",),
            registry=registry,
        )
        self._uploads = Counter("docmill_uploads", "Files sent to the vault", ("status",), registry=registry)
        self._lag = Histogram(
            "docmill_event_loop_lag_seconds",
            "How late the event loop was with what was due",
            buckets=_LAG_BUCKETS_S,
            registry=registry,
        )
        self._now = _Now()
        registry.register(self._now)
        ProcessCollector(registry=registry)

    def attempt_started(self) -> None:
        """A document has been claimed; `attempt_ended` follows in any case."""
        self._attempts.inc()
        self._in_flight.inc()

    def attempt_ended(
        self,
        outcome: Outcome,
        *,
        attempt: int,
        duration_s: float,
        code: str | None = None,
        timings_s: Mapping[str, float] = NO_TIMINGS,
        usage: Usage | None = None,
    ) -> None:
        """Count an attempt. attempt: its number, from 1; code: of the error that ended it."""
        self._in_flight.dec()
        self._documents.labels(outcome, code or "").inc()
        self._durations.observe(duration_s)
        if outcome in _FINISHED:
            self._attempts_needed.observe(attempt)
        for step, seconds in timings_s.items():
            self._step(step).observe(seconds)
        self._count_usage(usage)

    def _count_usage(self, usage: Usage | None) -> None:
        if usage is not None and usage.model is not None:
            self._tokens.labels("input", usage.model).inc(usage.input_tokens)
            self._tokens.labels("output", usage.model).inc(usage.output_tokens)
            self._cost.labels(usage.model).inc(float(usage.cost))

    @cache  # noqa: B019  one per process, for its life; looking up a label takes longer than counting
    def _step(self, step: str) -> Histogram:
        return self._steps.labels(step)

    def documents_failed(self, code: str, *, count: int = 1) -> None:
        """Count documents that failed because their workers died, without an attempt that ended here."""
        self._documents.labels("failed", code).inc(count)

    def matching_ended(
        self,
        outcome: MatchingOutcome,
        *,
        code: str = "",
        duration_s: float | None = None,
        usage: Usage | None = None,
    ) -> None:
        """Count a delivery of a document to be matched. duration_s: None if no work was done."""
        self._matchings.labels(outcome, code).inc()
        self._count_usage(usage)
        if duration_s is not None:
            self._matching_durations.observe(duration_s)

    def paused(self, code: str, seconds: float) -> None:
        """Count a pause: documents wait for a part of the system until a person repairs it."""
        del seconds  # a pause ends when a document gets through, not by the clock
        self._pauses.labels(code).inc()

    def watch_pauses(self, paused: Callable[[], Collection[tuple[str, str]]]) -> None:
        """Report the present pauses at each scrape: the code of the error, and its part."""
        self._now.paused = paused

    def notification_ended(self, channel: str, outcome: Literal["sent", "failed", "given_up"]) -> None:
        """Count a message about failures that a channel has sent, could not send, or gives up."""
        self._notifications.labels(channel, outcome).inc()

    def webhook_attempt_ended(self, outcome: Literal["sent", "failed", "given_up"]) -> None:
        """Count an attempt to send an event to a webhook. failed: it is tried again."""
        self._webhook_attempts.labels(outcome).inc()

    def upload_ended(self, status: str) -> None:
        """A file was sent to the vault: `accepted`, `already_here`, `restored` or `refused`."""
        self._uploads.labels(status).inc()

    def watch_pool(self, name: str, pool: PoolUse) -> None:
        """Report the use of a pool of processes at each scrape."""
        self._now.pools[name] = pool

    @asynccontextmanager
    async def watching_the_loop(self) -> AsyncGenerator[None]:
        """Measure how late the event loop is, during the block."""
        watching = asyncio.create_task(self._watch_loop())
        try:
            yield
        finally:
            await cancel_and_wait([watching])

    async def _watch_loop(self) -> None:
        while True:
            due = time.perf_counter() + _LAG_EVERY_S
            await asyncio.sleep(_LAG_EVERY_S)
            self._lag.observe(max(0.0, time.perf_counter() - due))

    def exposition(self) -> bytes:
        """All metrics of this process, in Prometheus' text format."""
        return generate_latest(self._registry)


class _Now(Collector):
    """Collector of the metrics that are looked up at each scrape."""

    def __init__(self) -> None:
        self.pools: dict[str, PoolUse] = {}
        self.paused: Callable[[], Collection[tuple[str, str]]] = list[tuple[str, str]]
        self._ever_paused: set[tuple[str, str]] = set()

    def collect(self) -> Iterable[Metric]:
        """See `Collector.collect`."""
        workers = GaugeMetricFamily("docmill_pool_workers", "Processes of a pool", labels=["pool"])
        busy = GaugeMetricFamily("docmill_pool_busy_workers", "Those that have a task", labels=["pool"])
        waiting = GaugeMetricFamily("docmill_pool_waiting_tasks", "Tasks without a process", labels=["pool"])
        for name, pool in self.pools.items():
            workers.add_metric([name], pool.workers)
            busy.add_metric([name], pool.busy)
            waiting.add_metric([name], pool.waiting)
        yield from (workers, busy, waiting)
        paused = GaugeMetricFamily(
            "docmill_paused", "1 while documents wait for a part", labels=["code", "part"]
        )
        now = frozenset(self.paused())
        self._ever_paused |= now
        for code, part in self._ever_paused:
            paused.add_metric([code, part], float((code, part) in now))
        yield paused
        build = GaugeMetricFamily("docmill_build_info", "The release that runs", labels=["version"])
        build.add_metric([version("docmill")], 1)
        yield build


def _matching_metrics(registry: CollectorRegistry) -> tuple[Counter, Histogram]:
    """The number of deliveries of documents to be matched, and their time."""
    deliveries = Counter(
        "docmill_matchings",
        "Deliveries of documents to be matched by how they ended, and the code of the error",
        ("outcome", "code"),
        registry=registry,
    )
    durations = Histogram(
        "docmill_matching_duration_seconds",
        "From the claim of a document to be matched to the end of the delivery",
        buckets=_STEP_BUCKETS_S,
        registry=registry,
    )
    return deliveries, durations
