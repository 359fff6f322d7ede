"""Runs on a Ray cluster of two nodes on this machine."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import dedent
from threading import Lock, Thread
from typing import Any

import psycopg
import pytest
from tests.runs.components import MemoryExporter
from tests.runs.ray_components import POLICY, LockingExtractor, SlowExtractor, letters, letters_pipeline

from docmill.errors import MisconfiguredError
from docmill.runs.components.csv_file import CsvExporter
from docmill.runs.components.json_lines import JsonLinesExporter
from docmill.runs.components.postgres import PostgresExporter
from docmill.runs.distributed.assignment import pack_assignment
from docmill.runs.distributed.ray_engine import RayEngine, refuse_files_of_one_machine
from docmill.runs.events import DocumentEnded, Event, Progress
from docmill.runs.report import RunReport
from docmill.runs.stores.memory import MemoryStore

ROOT = Path(__file__).parents[2]
COUNT = 200


@dataclass
class TwoNodes:
    """A cluster, and the second of its nodes."""

    cluster: Any
    second: Any

    @property
    def engine(self) -> RayEngine:
        return RayEngine(address=self.cluster.address)

    def lose_second(self) -> None:
        """End the second node without a warning."""
        self.cluster.remove_node(self.second, allow_graceful=False)


@pytest.fixture(scope="module")
def head() -> Iterator[Any]:
    """A cluster of one node."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        from ray import cluster_utils  # noqa: PLC0415  slow to load

        make: Any = cluster_utils.Cluster
        cluster = make(initialize_head=True, head_node_args=options_of_node("127.0.0.2"))
        try:
            yield cluster
        finally:
            cluster.shutdown()


@pytest.fixture
def two_nodes(head: Any) -> Iterator[TwoNodes]:
    second = head.add_node(**options_of_node("127.0.0.3"))
    try:
        yield TwoNodes(head, second)
    finally:
        if second in head.worker_nodes:
            head.remove_node(second)


def options_of_node(address: str) -> dict[str, Any]:
    # Ray takes 127.0.0.1 for the machine's own address on the network; the others of 127.0.0.0/8 stay here.
    return {
        "num_cpus": 1,
        "include_dashboard": False,
        "object_store_memory": 80_000_000,
        "node_ip_address": address,
    }


def records_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted((folder / "out").glob("*.json"))]


def what_became(report: RunReport) -> list[tuple[object, ...]]:
    states: list[tuple[object, ...]] = [
        (state.path, state.status, state.content_hash, state.attempts, state.error) for state in report
    ]
    asyncio.run(report.store.close())
    return states


def calls_by_runner(folder: Path) -> dict[str, list[str]]:
    return {path.stem: path.read_text().splitlines() for path in (folder / "calls").iterdir()}


def test_a_node_that_is_lost_changes_neither_states_nor_results(two_nodes: TwoNodes, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    expected = letters_pipeline(plain, delay_s=0).run(letters(COUNT, "broken"), run_id="run")
    folder = tmp_path / "ray"
    events: list[Event] = []

    def lose_one_in_the_middle() -> None:
        while len(records_of(folder)) < COUNT // 4 or len(calls_by_runner(folder)) < 2:
            time.sleep(0.05)
        two_nodes.lose_second()

    losing = Thread(target=lose_one_in_the_middle)
    losing.start()
    report = letters_pipeline(folder).run(
        letters(COUNT, "broken"), run_id="run", engine=two_nodes.engine, on_event=events.append
    )
    losing.join()

    assert not report.is_interrupted
    assert report.counts == expected.counts == {"completed": COUNT, "failed": 1}
    assert what_became(report) == what_became(expected)
    exported = Counter(record["source"] for record in records_of(folder))
    assert exported == {f"letter {number}": 1 for number in range(COUNT)}
    assert records_of(folder) == records_of(plain)
    calls = Counter(key for keys in calls_by_runner(folder).values() for key in keys if key != "broken")
    again = [key for key, times in calls.items() if times > 1]
    assert 0 < len(again) <= 3 * POLICY.concurrency, "only what the lost node had at work is done again"
    ended = {event.path for event in events if isinstance(event, DocumentEnded)}
    assert len(ended) >= COUNT - len(again)
    assert [event.total for event in events if isinstance(event, Progress)][-1] == COUNT + 1


def test_states_and_results_in_postgresql_are_those_of_the_plain_engine(
    two_nodes: TwoNodes, tmp_path: Path, database_url: str
) -> None:
    pipeline = replace(
        letters_pipeline(tmp_path, exporter=PostgresExporter(database_url)), store=database_url
    )

    report = pipeline.run(letters(20, "broken"), run_id="ray", engine=two_nodes.engine)
    plain = replace(pipeline, extractor=SlowExtractor(delay_s=0)).run(letters(20, "broken"), run_id="plain")

    assert what_became(report) == what_became(plain)
    with psycopg.connect(database_url) as connection:
        rows = connection.execute("SELECT run_id, source, sender FROM extractions").fetchall()
    assert sorted(rows) == sorted(
        (run_id, key, key) for run_id in ("ray", "plain") for key in (f"letter {n}" for n in range(20))
    )


def test_what_a_person_must_mend_stops_all_runners_and_the_run_goes_on_without_ray(
    two_nodes: TwoNodes, tmp_path: Path
) -> None:
    pipeline = letters_pipeline(tmp_path, extractor=SlowExtractor(has_key=False))
    engine = replace(two_nodes.engine, runners=3)  # for one of which there is no place

    with pytest.raises(MisconfiguredError, match="the key of the model is missing"):
        pipeline.run(letters(COUNT), run_id="run", engine=engine)
    between = len(records_of(tmp_path))
    mended = replace(pipeline, extractor=SlowExtractor(delay_s=0))
    report = mended.resume("run", lists=False)

    assert 0 < between < COUNT // 2
    assert report.counts == {"completed": COUNT}
    assert len(records_of(tmp_path)) == COUNT


def test_a_run_that_is_interrupted_ends_in_good_order_and_goes_on_without_ray(
    two_nodes: TwoNodes, tmp_path: Path
) -> None:
    (tmp_path / "inbox").mkdir()
    for number in range(COUNT):
        (tmp_path / "inbox" / f"{number}.txt").write_text(f"Letter {number}")
    (tmp_path / "pipeline.yaml").write_text(
        dedent(
            """
            schema: tests.runs.components:Letter
            lister: {kind: local, folder: inbox}
            reader: {kind: local}
            converter: {kind: "tests.runs.components:TextConverter"}
            extractor: {kind: "tests.runs.ray_components:SlowExtractor"}
            exporter: {kind: json-files, folder: out}
            """
        )
    )
    address = str(two_nodes.cluster.address)

    with start(
        tmp_path, "run", "--pipeline", "pipeline.yaml", "--run", "own", "--ray-address", address
    ) as run:
        while len(records_of(tmp_path)) < 10 and run.poll() is None:
            time.sleep(0.05)
        assert run.poll() is None, run.communicate()
        os.killpg(run.pid, signal.SIGINT)  # as a terminal does
        stopped, said = run.communicate(timeout=60)
    done = len(records_of(tmp_path))
    with start(tmp_path, "runs", "resume", "own") as again:
        went_on, _ = again.communicate(timeout=60)

    assert run.returncode == 130, said
    assert f"{done} completed" in stopped, "what was at work is done, and what is done is counted"
    assert "in progress" not in stopped
    assert "go on: docmill runs resume own" in stopped
    assert 10 <= done < COUNT
    assert again.returncode == 0
    assert f"{COUNT} completed" in went_on
    assert len(records_of(tmp_path)) == COUNT


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", "from docmill.cli import main; main()", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize("exporter", [JsonLinesExporter("out.jsonl"), CsvExporter("out.csv")])
def test_an_exporter_into_one_file_is_refused(tmp_path: Path, exporter: object) -> None:
    pipeline = letters_pipeline(tmp_path, exporter=exporter)

    with pytest.raises(MisconfiguredError, match=r"Exporter writes one file.*json-files"):
        pipeline.run(letters(1), engine="ray")
    assert not (tmp_path / "runs.sqlite").exists(), "no run was begun"


def test_what_cannot_be_sent_is_named(tmp_path: Path) -> None:
    with pytest.raises(MisconfiguredError, match=r"LockingExtractor cannot be sent.*open\(\)"):
        letters_pipeline(tmp_path, extractor=LockingExtractor()).run(letters(1), engine="ray")
    with pytest.raises(MisconfiguredError, match="the object that components share cannot be sent"):
        letters_pipeline(tmp_path).run(letters(1), engine="ray", shared=Lock())


@pytest.mark.parametrize("store", ["memory:", MemoryStore()])
def test_a_store_that_others_cannot_reach_is_refused(tmp_path: Path, store: Any) -> None:
    with pytest.raises(MisconfiguredError, match="runners elsewhere"):
        letters_pipeline(tmp_path, exporter=MemoryExporter()).run(letters(1), engine="ray", store=store)


def test_an_unknown_engine_is_an_error(tmp_path: Path) -> None:
    pipeline = letters_pipeline(tmp_path)

    with pytest.raises(MisconfiguredError, match="no engine 'spark'"):
        pipeline.run(letters(1), engine="spark")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(MisconfiguredError, match="at least one runner"):
        RayEngine(runners=0)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("127.0.0.1:9", "there is no Ray cluster at"),
        ("ray://127.0.0.1:9", "HOST:PORT"),
        ("here", "HOST:PORT"),
    ],
)
def test_a_cluster_that_is_not_there_is_an_error(tmp_path: Path, address: str, said: str) -> None:
    pipeline = letters_pipeline(tmp_path)

    with pytest.raises(MisconfiguredError, match=said):
        pipeline.run(letters(1), run_id="run", engine=RayEngine(address=address))
    report = pipeline.resume("run", letters(1))
    assert report.counts == {"completed": 1}


def test_a_file_of_states_is_refused_on_several_machines(tmp_path: Path) -> None:
    ray = Machines("one", "other", "other")

    with pytest.raises(MisconfiguredError, match="the cluster has 2 machines"):
        refuse_files_of_one_machine(ray, str(tmp_path / "runs.sqlite"))
    refuse_files_of_one_machine(ray, "postgresql://host/database")
    refuse_files_of_one_machine(Machines("other", "other"), str(tmp_path / "runs.sqlite"))


class Machines:
    """Ray, as far as it names the machines of its nodes."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def nodes(self) -> list[dict[str, object]]:
        return [{"NodeManagerHostname": name, "Alive": True} for name in self._names]


def test_another_pipeline_on_a_node_is_refused_there(tmp_path: Path) -> None:
    assignment = pack_assignment(
        letters_pipeline(tmp_path), "runs.sqlite", run_id="run", shared=None, metadata={}
    )

    with pytest.raises(MisconfiguredError, match="install the same releases"):
        replace(assignment, fingerprint="another").unpack()
    with pytest.raises(MisconfiguredError, match="cannot be loaded there"):
        replace(assignment, pipeline=b"cnowhere\nNothing\n.").unpack()
    assert assignment.unpack()[0].fingerprint == assignment.fingerprint
    assert assignment.store == str(Path.cwd() / "runs.sqlite")
