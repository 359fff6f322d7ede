"""Runs on a Ray cluster of two nodes on this machine."""

import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from tests.runs.ray_components import POLICY, letters, letters_pipeline

from docmill.runs.distributed.ray_engine import RayEngine
from docmill.runs.report import RunReport

COUNT = 200


@dataclass
class TwoNodes:
    """A cluster. lost: how to end its second node without a warning."""

    cluster: Any
    second: Any

    @property
    def engine(self) -> RayEngine:
        return RayEngine(address=self.cluster.address)

    def lose_second(self) -> None:
        self.cluster.remove_node(self.second, allow_graceful=False)


@pytest.fixture
def two_nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[TwoNodes]:
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    from ray.cluster_utils import Cluster  # noqa: PLC0415  slow to load

    # Ray takes 127.0.0.1 for the machine's own address on the network; the other ones are loopback, too.
    options = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": 80_000_000}
    cluster = Cluster(initialize_head=True, head_node_args={**options, "node_ip_address": "127.0.0.2"})
    try:
        yield TwoNodes(cluster, cluster.add_node(**options, node_ip_address="127.0.0.3"))
    finally:
        cluster.shutdown()


def records_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted((folder / "out").glob("*.json"))]


def what_became(report: RunReport) -> list[tuple[object, ...]]:
    return [(state.path, state.status, state.content_hash, state.attempts, state.error) for state in report]


def calls_by_runner(folder: Path) -> dict[str, list[str]]:
    return {path.stem: path.read_text().splitlines() for path in (folder / "calls").iterdir()}


def test_a_node_that_is_lost_changes_neither_states_nor_results(two_nodes: TwoNodes, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    expected = letters_pipeline(plain, delay_s=0).run(letters(COUNT, "broken"), run_id="run")
    folder = tmp_path / "ray"
    pipeline = letters_pipeline(folder)

    def lose_one_in_the_middle() -> None:
        while len(records_of(folder)) < COUNT // 4 or len(calls_by_runner(folder)) < 2:
            time.sleep(0.05)
        two_nodes.lose_second()

    losing = Thread(target=lose_one_in_the_middle)
    losing.start()
    report = pipeline.run(letters(COUNT, "broken"), run_id="run", engine=two_nodes.engine)
    losing.join()

    assert not report.is_interrupted
    assert report.counts == expected.counts == {"completed": COUNT, "failed": 1}
    assert what_became(report) == what_became(expected)
    exported = Counter(record["source"] for record in records_of(folder))
    assert exported == {f"letter {number}": 1 for number in range(COUNT)}
    assert [without_attempts(record) for record in records_of(folder)] == [
        without_attempts(record) for record in records_of(plain)
    ]
    calls = Counter(key for keys in calls_by_runner(folder).values() for key in keys if key != "broken")
    again = [key for key, times in calls.items() if times > 1]
    assert 0 < len(again) <= 3 * POLICY.concurrency, "only what the lost node had at work is done again"


def without_attempts(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != "attempts"}
