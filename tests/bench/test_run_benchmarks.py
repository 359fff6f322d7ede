"""The benchmarks of runs do what they say, at a small size."""

import asyncio
from pathlib import Path

import pytest
from bench.data.run_components import (
    CountingExporter,
    KeyReader,
    Letter,
    TextConverter,
    TextExtractor,
)
from bench.peers.production_guide import (
    CheckpointFolder,
    Components,
    DeadLetterFolder,
    DocumentRecord,
    ResumablePipeline,
    RunRecord,
    Status,
)
from bench.speed import run_failures, run_kills, run_memory, run_overhead


def test_the_overhead_of_runs_is_measured_beside_that_of_the_peer(capsys: pytest.CaptureFixture[str]) -> None:
    costs = run_overhead.measure(40, [10, 20], 1)
    run_overhead.print_table(costs, [10, 20])

    assert all(0 < cost.wall_us < 1e6 for cost in costs.values())
    assert {"docmill, in memory", "docmill, SQLite, 20", "peer, checkpoints, 20"} <= set(costs)
    assert "from 10 to 20 documents" in capsys.readouterr().out


def test_the_memory_of_a_run_is_that_of_a_process_of_its_own() -> None:
    peak = run_memory.measure("sqlite", 20)

    assert 10e6 < peak < 500e6


async def test_each_kind_of_run_whose_memory_is_measured_comes_to_its_end(tmp_path: Path) -> None:
    for kind in run_memory.KINDS:
        await run_memory.run(kind, 10, tmp_path / kind)

    assert run_memory.peak_bytes() > 10e6


def test_a_killed_run_loses_nothing_and_the_pattern_of_the_guide_does() -> None:
    own = run_kills.measure("docmill", 60, 2)
    peer = run_kills.measure("peer", 60, 2)

    assert (own.lost, own.doubled, own.torn) == (0, 0, 0)
    assert own.kills == peer.kills == 2
    assert peer.lost > 0


def test_lost_doubled_and_torn_records_are_counted(tmp_path: Path) -> None:
    lines = ['{"source": "document 0"}', '{"source": "document 0"}', '{"source": "docu']
    (tmp_path / "out.jsonl").write_text("\n".join(lines), encoding="utf-8")

    assert run_kills.count_losses(tmp_path, 3) == (2, 1, 1)


@pytest.mark.parametrize("name", ["for good", "once, each for itself"])
def test_good_documents_overtake_those_that_fail(name: str) -> None:
    case = run_failures.CASES[name]

    own = asyncio.run(run_failures.measure_docmill(case, 6, 2, 0.8))
    peer = asyncio.run(run_failures.measure_peer(case, 6, 2, 0.8))

    assert own.first_good_s < peer.first_good_s


async def test_the_peer_goes_on_with_what_is_pending_or_has_failed_as_its_guide_says(tmp_path: Path) -> None:
    checkpoints, exporter = CheckpointFolder(tmp_path), CountingExporter()
    statuses: tuple[Status, ...] = ("pending", "in_progress", "completed", "failed")
    checkpoints.save(RunRecord("run", {status: DocumentRecord(status, status) for status in statuses}))
    components = Components(KeyReader(), TextConverter(), TextExtractor(), exporter, Letter)

    run = await ResumablePipeline(components, checkpoints).run([], "run")

    assert exporter.count == 2
    assert run.documents["in_progress"].status == "in_progress"
    assert checkpoints.load("run") == run


def test_the_peer_keeps_a_file_for_each_document_that_failed_for_good(tmp_path: Path) -> None:
    reader, exporter = run_failures.FailingReader(), CountingExporter()
    components = Components(reader, TextConverter(), TextExtractor(), exporter, Letter)
    dead_letters = DeadLetterFolder(tmp_path)
    pipeline = ResumablePipeline(components, CheckpointFolder(None), dead_letters, backoff_base=0.01)

    run = asyncio.run(pipeline.run(run_failures.refs(3, 1)))

    assert [path.name for path in tmp_path.iterdir()] == ["failing 0.json"]
    assert run.documents["failing 0"].attempts == 3
    assert exporter.count == 2
