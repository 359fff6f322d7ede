"""Health checks and metrics of a process, with the figures that are looked up at a scrape."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from docmill.errors import DocmillError
from docmill.service.app import Service
from docmill.service.observe.health import LIMIT_S, HealthChecks, HealthReport, queue_check
from docmill.service.observe.metrics import Metrics
from docmill.service.ports import Depth
from docmill.service.protocol.queues import INGESTION
from docmill.service.store import doc_sources, matching_jobs, outages, outbox
from docmill.service.store.database import Database
from docmill.service.store.doc_sources import SourceCount
from docmill.service.store.outages import Outage
from docmill.service.store.outbox import Backlog


@dataclass(frozen=True, slots=True)
class Probes:
    """The health and the counters of one process, and the database to be asked at a scrape.

    vault_id: of the vault that it is a process of. queues: their names.
    """

    health: HealthChecks
    metrics: Metrics
    database: Database
    vault_id: UUID | None = None
    queues: Sequence[str] = (INGESTION.name,)

    @classmethod
    def of(cls, service: Service, stopping: asyncio.Event) -> "Probes":
        """For a process that works with `service`. stopping: set when it is told to end."""
        return cls(
            HealthChecks(service.database.url, service.queues, service.blobs, stopping),
            Metrics(),
            service.database,
            service.vault_id,
            tuple(service.queues),
        )

    async def scrape(self) -> bytes:
        """Metrics in Prometheus' text format: what this process counted, and what is shared, asked now.

        What cannot be asked is left out, and `docmill_up` says so.
        """
        report = await self.health.ready()
        # What does not answer a simple question is not asked for more.
        backlog = stuck = None
        sources: list[SourceCount] = []
        down: list[Outage] | None = None
        if report.checks["database"] == "ok":
            with suppress(DocmillError, TimeoutError):
                async with asyncio.timeout(LIMIT_S), self.database.connection() as conn:
                    backlog = await outbox.backlog(conn)
                    stuck = await matching_jobs.count_stuck(conn)
                    sources = await doc_sources.count_by_kind(conn)
                    down = await outages.current(conn)
        answering = [name for name in self.queues if report.checks[queue_check(name)] == "ok"]
        depths = await self.health.depths(answering)
        shared = CollectorRegistry()
        shared.register(_Shared(report, self.queues, depths, backlog, stuck, sources, down))
        return self.metrics.exposition() + generate_latest(shared)


@dataclass(frozen=True, slots=True, eq=False)  # registered by identity
class _Shared(Collector):
    """Metrics of the database, which every process reports alike."""

    report: HealthReport
    queues: Sequence[str]
    depths: Mapping[str, Depth]
    backlog: Backlog | None
    stuck: int | None
    sources: Sequence[SourceCount]
    outages: Sequence[Outage] | None

    def collect(self) -> Iterable[Metric]:
        """See `Collector.collect`."""
        up = GaugeMetricFamily("docmill_up", "1 if the component answers", labels=["component"])
        for component, state in self.report.checks.items():
            up.add_metric([component], float(state == "ok"))
        yield up
        messages = GaugeMetricFamily(
            "docmill_queue_messages", "Messages in the queue", labels=["queue", "state"]
        )
        age = GaugeMetricFamily(
            "docmill_queue_oldest_age_seconds",
            "Age of the oldest due message; 0 without one",
            labels=["queue"],
        )
        for queue, depth in self.depths.items():
            messages.add_metric([queue, "due"], depth.due)
            messages.add_metric([queue, "delayed"], depth.delayed)
            messages.add_metric([queue, "in_flight"], depth.in_flight)
            age.add_metric([queue], depth.oldest_age_s)
        if self.depths:
            yield from (messages, age)
        if self.backlog is not None:
            letters = "Documents of all tenants that failed and wait for a person"
            unsent = "Messages not yet handed to an external queue"
            for name, text, counts in (
                ("docmill_dead_letters", letters, self.backlog.dead_letters),
                ("docmill_outbox_messages", unsent, self.backlog.unsent),
            ):
                metric = GaugeMetricFamily(name, text, labels=["queue"])
                for queue, number in {**dict.fromkeys(self.queues, 0), **counts}.items():
                    metric.add_metric([queue], number)
                yield metric
        if self.stuck is not None:
            stuck = GaugeMetricFamily(
                "docmill_matching_stuck", "Documents whose matching has been in progress for over 10 minutes"
            )
            stuck.add_metric([], self.stuck)
            yield stuck
        if self.outages is not None:
            lasting = GaugeMetricFamily(
                "docmill_outage_seconds",
                "Time for which a part has failed and been left alone",
                labels=["part"],
            )
            for outage in self.outages:
                lasting.add_metric([outage.part], outage.for_s)
            yield lasting
        yield from self._source_metrics()

    def _source_metrics(self) -> Iterable[Metric]:
        """Sources of all tenants by kind, and the items that came from them."""
        sources = GaugeMetricFamily(
            "docmill_sources", "Sources from which documents are to arrive", labels=["kind", "state"]
        )
        items = CounterMetricFamily(
            "docmill_source_items", "Items that came from sources", labels=["kind", "outcome"]
        )
        for count in self.sources:
            sources.add_metric([count.kind, "working"], count.active - count.failing - count.waiting)
            sources.add_metric([count.kind, "failing"], count.failing)
            sources.add_metric([count.kind, "waiting"], count.waiting)
            items.add_metric([count.kind, "taken"], count.taken)
            items.add_metric([count.kind, "refused"], count.refused)
        if self.sources:
            yield from (sources, items)
