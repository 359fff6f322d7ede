"""What a process answers to those who watch it: is it alive, is it ready, what does it do."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from docmill.ports import Depth
from docmill.service.health import Health, Report
from docmill.service.metrics import Metrics
from docmill.service.stack import Service


@dataclass(frozen=True, slots=True)
class Probes:
    """The health and the counters of one process."""

    health: Health
    metrics: Metrics

    @classmethod
    def of(cls, service: Service, stopping: asyncio.Event) -> "Probes":
        """For a process that works with `service`. stopping: set when it is told to end."""
        return cls(Health(service.database.url, service.queue, service.blobs, stopping), Metrics())

    async def scrape(self) -> bytes:
        """Metrics in Prometheus' text format: what this process counted, and what is shared, asked now.

        What cannot be asked is left out, and `docmill_up` says so.
        """
        report = await self.health.ready()
        shared = CollectorRegistry()
        shared.register(_Shared(report, self.health.depth))
        return self.metrics.exposition() + generate_latest(shared)


@dataclass(frozen=True, slots=True, eq=False)  # registered by identity
class _Shared(Collector):
    """What every process on the same database reports alike."""

    report: Report
    depth: Depth | None

    def collect(self) -> Iterable[Metric]:
        """See `Collector.collect`."""
        up = GaugeMetricFamily("docmill_up", "1 if the component answers", labels=["component"])
        for component, state in self.report.checks.items():
            up.add_metric([component], float(state == "ok"))
        yield up
        if self.depth is not None:
            yield from _queue(self.depth)


def _queue(depth: Depth) -> Iterable[Metric]:
    messages = GaugeMetricFamily("docmill_queue_messages", "Messages in the queue", labels=["state"])
    messages.add_metric(["due"], depth.due)
    messages.add_metric(["delayed"], depth.delayed)
    messages.add_metric(["in_flight"], depth.in_flight)
    yield messages
    yield GaugeMetricFamily(
        "docmill_queue_oldest_age_seconds", "Age of the oldest due message; 0 without one", depth.oldest_age_s
    )
