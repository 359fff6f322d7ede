"""Health checks and metrics of a process, with the figures that are looked up at a scrape."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from docmill.errors import DocmillError
from docmill.service.app import INGESTION_QUEUE, Service
from docmill.service.observe.health import LIMIT_S, HealthChecks, HealthReport
from docmill.service.observe.metrics import Metrics
from docmill.service.ports import Depth
from docmill.service.store import outbox
from docmill.service.store.database import Database
from docmill.service.store.outbox import Backlog


@dataclass(frozen=True, slots=True)
class Probes:
    """The health and the counters of one process, and the database to be asked at a scrape.

    vault_id: of the vault that it is a process of.
    """

    health: HealthChecks
    metrics: Metrics
    database: Database
    vault_id: UUID | None = None

    @classmethod
    def of(cls, service: Service, stopping: asyncio.Event) -> "Probes":
        """For a process that works with `service`. stopping: set when it is told to end."""
        return cls(
            HealthChecks(service.database.url, service.queue, service.blobs, stopping),
            Metrics(),
            service.database,
            service.vault_id,
        )

    async def scrape(self) -> bytes:
        """Metrics in Prometheus' text format: what this process counted, and what is shared, asked now.

        What cannot be asked is left out, and `docmill_up` says so.
        """
        report = await self.health.ready()
        # What does not answer a simple question is not asked for more.
        backlog = None
        if report.checks["database"] == "ok":
            with suppress(DocmillError, TimeoutError):
                async with asyncio.timeout(LIMIT_S), self.database.connection() as conn:
                    backlog = await outbox.backlog(conn)
        depth = await self.health.depth() if report.checks["queue"] == "ok" else None
        shared = CollectorRegistry()
        shared.register(_Shared(report, depth, backlog))
        return self.metrics.exposition() + generate_latest(shared)


@dataclass(frozen=True, slots=True, eq=False)  # registered by identity
class _Shared(Collector):
    """Metrics of the database, which every process reports alike."""

    report: HealthReport
    depth: Depth | None
    backlog: Backlog | None

    def collect(self) -> Iterable[Metric]:
        """See `Collector.collect`."""
        up = GaugeMetricFamily("docmill_up", "1 if the component answers", labels=["component"])
        for component, state in self.report.checks.items():
            up.add_metric([component], float(state == "ok"))
        yield up
        if self.depth is not None:
            messages = GaugeMetricFamily(
                "docmill_queue_messages", "Messages in the queue", labels=["queue", "state"]
            )
            messages.add_metric([INGESTION_QUEUE, "due"], self.depth.due)
            messages.add_metric([INGESTION_QUEUE, "delayed"], self.depth.delayed)
            messages.add_metric([INGESTION_QUEUE, "in_flight"], self.depth.in_flight)
            yield messages
            age = GaugeMetricFamily(
                "docmill_queue_oldest_age_seconds",
                "Age of the oldest due message; 0 without one",
                labels=["queue"],
            )
            age.add_metric([INGESTION_QUEUE], self.depth.oldest_age_s)
            yield age
        if self.backlog is not None:
            letters = "Documents of all tenants that failed and wait for a person"
            unsent = "Messages not yet handed to an external queue"
            for name, text, counts in (
                ("docmill_dead_letters", letters, self.backlog.dead_letters),
                ("docmill_outbox_messages", unsent, self.backlog.unsent),
            ):
                metric = GaugeMetricFamily(name, text, labels=["queue"])
                for queue, number in {INGESTION_QUEUE: 0, **counts}.items():
                    metric.add_metric([queue], number)
                yield metric
