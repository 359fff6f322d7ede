"""Web servers and workers as processes of their own, which come and go."""

import signal
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from docmill.service.storage.private_files import open_content
from support.docmill_processes import DOCMILL, PATIENCE_S, Machine

WritePdf = Callable[..., Path]


OF_EVERY_ATTEMPT = {"ingestion_id", "document_id", "tenant_id", "worker_id", "attempt"}


def test_two_web_servers_and_a_worker_share_a_folder_and_outlive_each_other(
    machine: Machine, tmp_path: Path, write_pdf: WritePdf
) -> None:
    started = [
        machine.start("web", "--port", "0"),
        machine.start("web", "--port", "0"),
        machine.start("worker", "--port", "0"),
    ]
    first, second, worker = (process.until_ready() for process in started)

    document_id = first.upload(write_pdf(tmp_path / "private name.pdf"))
    second.until(document_id, "finished")
    ready = [process.get("readyz").json()["status"] for process in started]
    first.process.kill()
    first.exit_code()
    worker.send(signal.SIGTERM)
    worker_code = worker.exit_code()
    left = second.get("healthz").json()["status"]
    state = second.get(f"api/v1/documents/{document_id}").json()["state"]
    second.send(signal.SIGINT)

    assert first.address != second.address
    assert ready == ["ok", "ok", "ok"]
    assert worker_code == 0
    assert (left, state) == ("ok", "ready")
    assert second.exit_code() == 0
    assert not machine.postmaster.exists()


def test_no_other_user_may_read_what_a_vault_and_its_backup_hold(
    machine: Machine, tmp_path: Path, write_pdf: WritePdf
) -> None:
    up = machine.start("up", "--port", "0").until_ready()
    document_id = up.upload(write_pdf(tmp_path / "bill.pdf"))
    up.until(document_id, "finished")
    backup = tmp_path / "backup.tar"

    made = subprocess.run([DOCMILL, "backup", backup, "--data-dir", machine.folder], check=False)

    opened = list(open_content(machine.folder))
    up.send(signal.SIGTERM)
    assert (made.returncode, opened) == (0, [])
    assert backup.stat().st_mode & 0o777 == 0o600
    assert {"blobs", "work", "addresses", "postgres"} <= {path.name for path in machine.folder.iterdir()}
    assert up.exit_code() == 0


def test_of_two_vaults_that_start_at_once_on_a_new_folder_one_runs(machine: Machine) -> None:
    started = [machine.start("up", "--port", "0") for _ in range(2)]
    said = [process.process.stdout.readline() for process in started if process.process.stdout is not None]

    running = [process for process, line in zip(started, said, strict=True) if line]
    (refused,) = [process for process in started if process not in running]

    assert len(running) == 1
    assert refused.exit_code() == 2
    assert "is just starting elsewhere" in refused.log_file.read_text()


def test_a_process_tells_that_its_database_was_killed_and_works_on_when_it_is_back(machine: Machine) -> None:
    web = machine.start("web", "--port", "0").until_ready()

    with machine.database_killed():
        healthy, ready, metrics = (web.get(path) for path in ("healthz", "readyz", "metrics"))
    web.until_answered("healthz", 200)  # whoever uses the database starts it again
    web.until_answered("readyz", 200)  # the pool has still to replace the connections of before

    assert (healthy.status_code, ready.status_code, metrics.status_code) == (503, 503, 200)
    assert ready.json()["checks"]["database"] == "failing"
    assert 'docmill_up{component="database"} 0.0' in metrics.text


def test_a_stream_of_events_ends_with_its_server(machine: Machine) -> None:
    web = machine.start("web", "--port", "0").until_ready()

    with web.events() as events:
        web.send(signal.SIGTERM)
        assert list(events) == []

    assert web.exit_code() == 0


def test_an_upload_that_runs_when_the_server_is_told_to_stop_is_taken(machine: Machine) -> None:
    web = machine.start("web", "--port", "0").until_ready()
    with web.events() as events, ThreadPoolExecutor() as beside:
        told = beside.submit(list[dict[str, str]], events)

        def body() -> Iterator[bytes]:
            yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="bill.pdf"\r\n\r\n%PDF-1.7'
            web.send(signal.SIGTERM)
            told.result(PATIENCE_S)  # streams end when the server begins to stop
            yield b" bill\r\n--x--\r\n"

        answer = httpx.post(
            f"{web.address}api/v1/documents",
            content=body(),
            headers={"content-type": "multipart/form-data; boundary=x"},
            timeout=PATIENCE_S,
        )

    assert answer.status_code == 201
    assert web.exit_code() == 0


def test_a_second_signal_gives_back_what_a_worker_holds(
    machine: Machine, tmp_path: Path, write_pdf: WritePdf
) -> None:
    started = machine.start("web", "--port", "0"), machine.start("worker")
    web, worker = (process.until_ready() for process in started)

    with web.events() as events:
        document_id = web.upload(write_pdf(tmp_path / "long.pdf", pages=500))
        next(event for event in events if event["kind"] == "step")
        worker.send(signal.SIGTERM)
        worker.send(signal.SIGINT)
        code = worker.exit_code()
    machine.start("worker")
    web.until(document_id, "finished")
    (ingestion,) = web.get(f"api/v1/documents/{document_id}/ingestions").json()["ingestions"]

    assert code == 0
    assert [line for line in worker.log() if line.get("status") == "completed"] == []
    assert ingestion["attempt_count"] == 1


def test_a_log_tells_the_work_and_nothing_of_the_document(
    machine: Machine, tmp_path: Path, write_pdf: WritePdf
) -> None:
    started = machine.start("web", "--port", "0"), machine.start("worker")
    web, worker = (process.until_ready() for process in started)
    broken = tmp_path / "private broken.pdf"
    broken.write_bytes(b"%PDF-1.7 no more than that")

    read_id, broken_id = web.upload(write_pdf(tmp_path / "private name.pdf")), web.upload(broken)
    web.until(read_id, "finished")
    web.until(broken_id, "failed")
    for process in (web, worker):
        process.send(signal.SIGTERM)
        process.exit_code()

    of_attempts = [line for line in worker.log() if "document_id" in line and "matching" not in line["event"]]
    ends = {line["document_id"]: line for line in of_attempts if line["event"] == "attempt ended"}
    assert [line for line in of_attempts if not line.keys() >= OF_EVERY_ATTEMPT] == []
    assert (ends[read_id]["status"], ends[broken_id]["status"]) == ("completed", "failed")
    assert all(isinstance(line["duration_ms"], int) for line in ends.values())
    assert "transcribe" in ends[read_id]["durations_ms"]
    assert (ends[broken_id]["step"], ends[broken_id]["code"]) == ("transcribe", "corrupt")
    for process in (web, worker):
        text = process.log_file.read_text()
        assert "private" not in text
        assert "INV-104" not in text
        assert "alembic" not in text
