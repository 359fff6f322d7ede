import asyncio
from dataclasses import dataclass
from decimal import Decimal

from prometheus_client.parser import text_string_to_metric_families

from docmill.model.document import Usage
from docmill.service.observe.metrics import Metrics


@dataclass
class BusyPool:
    workers: int = 2
    busy: int = 1
    waiting: int = 3


def values(metrics: Metrics) -> dict[str, float]:
    """Every sample by its name and labels, as `name{label=value}`."""
    return {
        sample.name
        + "".join(f"{{{key}={value}}}" for key, value in sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(metrics.exposition().decode())
        for sample in family.samples
    }


def test_an_attempt_is_in_flight_until_it_ends() -> None:
    metrics = Metrics()

    metrics.attempt_started()
    begun = values(metrics)
    metrics.attempt_ended("completed", attempt=1, duration_s=2.0, timings_s={"read": 0.02, "transcribe": 1.5})
    ended = values(metrics)

    assert (begun["docmill_attempts_total"], begun["docmill_jobs_in_flight"]) == (1, 1)
    assert ended["docmill_jobs_in_flight"] == 0
    assert ended["docmill_documents_total{code=}{outcome=completed}"] == 1
    assert ended["docmill_step_duration_seconds_sum{step=transcribe}"] == 1.5
    assert ended["docmill_step_duration_seconds_bucket{le=0.03}{step=read}"] == 1
    assert ended["docmill_attempt_duration_seconds_count"] == 1
    assert ended["docmill_document_attempts_count"] == 1


def test_an_attempt_that_did_not_finish_its_document_is_told_by_its_code() -> None:
    metrics = Metrics()

    metrics.attempt_started()
    metrics.attempt_ended("retried", attempt=1, duration_s=0.1, code="network")
    metrics.documents_failed("crashed", count=2)

    seen = values(metrics)
    assert seen["docmill_documents_total{code=network}{outcome=retried}"] == 1
    assert seen["docmill_documents_total{code=crashed}{outcome=failed}"] == 2
    assert seen["docmill_document_attempts_count"] == 0


def test_tokens_and_cost_are_counted_by_model() -> None:
    metrics = Metrics()
    usage = Usage(input_tokens=10, output_tokens=5, model="small", cost=Decimal("0.25"))

    for use in (usage, usage, Usage()):
        metrics.attempt_started()
        metrics.attempt_ended("completed", attempt=1, duration_s=1, usage=use)

    seen = values(metrics)
    assert seen["docmill_tokens_total{direction=input}{model=small}"] == 20
    assert seen["docmill_tokens_total{direction=output}{model=small}"] == 10
    assert seen["docmill_cost_usd_total{model=small}"] == 0.5


def test_a_pause_is_seen_while_it_lasts_and_counted() -> None:
    metrics = Metrics()
    paused = [("unauthorized", "small model")]
    metrics.watch_pauses(lambda: paused)

    metrics.paused("unauthorized", 60)
    during = values(metrics)
    paused.clear()
    after = values(metrics)

    assert during["docmill_paused{code=unauthorized}{part=small model}"] == 1
    assert after["docmill_paused{code=unauthorized}{part=small model}"] == 0
    assert after["docmill_pauses_total{code=unauthorized}"] == 1


def test_the_use_of_a_pool_is_asked_at_the_scrape() -> None:
    metrics, pool = Metrics(), BusyPool()
    metrics.watch_pool("reading", pool)

    pool.waiting = 7

    seen = values(metrics)
    assert seen["docmill_pool_workers{pool=reading}"] == 2
    assert seen["docmill_pool_busy_workers{pool=reading}"] == 1
    assert seen["docmill_pool_waiting_tasks{pool=reading}"] == 7


def test_two_in_one_process_know_nothing_of_each_other() -> None:
    first, second = Metrics(), Metrics()

    first.upload_ended("accepted")

    assert values(first)["docmill_uploads_total{status=accepted}"] == 1
    assert "docmill_uploads_total{status=accepted}" not in values(second)


async def test_the_lag_of_the_event_loop_is_measured() -> None:
    metrics = Metrics()

    async with metrics.watching_the_loop(), asyncio.timeout(20):
        while not values(metrics)["docmill_event_loop_lag_seconds_count"]:
            await asyncio.to_thread(metrics.exposition)


def test_the_release_and_the_process_are_told() -> None:
    seen = values(Metrics())

    assert any(name.startswith("docmill_build_info{version=") for name in seen)
    assert seen["process_open_fds"] > 0
