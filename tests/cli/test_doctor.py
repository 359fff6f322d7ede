import fcntl
import subprocess
import sys
import tempfile
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from docmill.cli import doctor as doctor_module
from docmill.cli.doctor import CheckResult, doctor
from docmill.errors import CrashedError
from docmill.reading.ocr import tesseract
from docmill.service.storage.postgres_server import Origin
from docmill.workers.sandbox import PROTECTIONS
from support.databases import login_url


def test_a_machine_with_everything_is_told_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCMILL_DATA_DIR", str(tmp_path))

    code = doctor(None)

    printed = capsys.readouterr().out
    assert code == 0, printed
    assert "everything needed is here" in printed
    assert "PostgreSQL: embedded, postgres (PostgreSQL)" in printed
    assert "recognition models: 3 in the package" in printed


def test_what_is_missing_is_named_with_how_to_get_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_opencv(name: str) -> object:
        if name == "cv2":
            raise ImportError("libGL.so.1: cannot open shared object file")
        return import_module(name)

    monkeypatch.setattr(doctor_module, "import_module", without_opencv)

    code = doctor(None)

    printed = capsys.readouterr().out
    assert code == 1
    assert "libGL.so.1: cannot open shared object file; run: pip install" in printed


@pytest.mark.parametrize(
    ("section", "named"), [("[otel]\nendpoint = 'http://127.0.0.1:4318'", "docmill[otel]"), ("", None)]
)
def test_what_traces_need_is_missing_only_where_they_are_on(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    section: str,
    named: str | None,
) -> None:
    def without_opentelemetry(name: str) -> object:
        return None if name.startswith("opentelemetry") else find_spec(name)

    monkeypatch.setattr(doctor_module, "find_spec", without_opentelemetry)
    config = tmp_path / "docmill.toml"
    config.write_text(f'data_dir = "{tmp_path}"\n{section}\n')

    code = doctor(config)

    printed = " ".join(capsys.readouterr().out.split())
    assert code == (1 if named else 0), printed
    assert ("✗ otel.endpoint: " in printed) == bool(named)
    assert f"pip install '{named or 'docmill[otel]'}'" in printed


def test_wrong_settings_are_a_finding_and_not_a_crash(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    config = tmp_path / "docmill.toml"
    config.write_text("[worker]\nlease_s = 'long'\n")

    code = doctor(config)

    assert code == 1
    assert "worker.lease_s" in capsys.readouterr().out


def test_a_missing_engine_that_nobody_chose_is_no_failure(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCMILL_DATA_DIR", str(tmp_path))
    monkeypatch.setattr(tesseract, "PLACES", "/nowhere")

    code = doctor(None)

    assert code == 0
    assert "apt-get install tesseract-ocr" in capsys.readouterr().out


USE_AND_BE_KILLED = """
import os, sys
from pathlib import Path
from docmill.service.storage.postgres_server import EmbeddedPostgres
os.umask(0o077)  # as the command does
EmbeddedPostgres(Path(sys.argv[1])).start()
os.kill(os.getpid(), 9)
"""


def test_a_database_that_was_left_running_is_told_and_stopped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Not pytest's folder: it is closed to the user under whom the server runs when tests run as root.
    with tempfile.TemporaryDirectory(prefix="docmill-") as folder:
        monkeypatch.setenv("DOCMILL_DATA_DIR", folder)
        postgres = Path(folder) / "postgres"
        subprocess.run([sys.executable, "-c", USE_AND_BE_KILLED, str(postgres)], check=False, timeout=100)
        assert (postgres / "data" / "postmaster.pid").exists()

        code = doctor(None)

        assert code == 0
        assert "was left running by a process that was killed; stopped now" in capsys.readouterr().out
        assert not (postgres / "data" / "postmaster.pid").exists()


def test_a_database_in_use_by_another_container_is_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCMILL_DATA_DIR", str(tmp_path))
    postgres = tmp_path / "postgres"
    (postgres / "data").mkdir(parents=True)
    (postgres / "data" / "postmaster.pid").touch()
    replace(Origin.here(), pid_namespace="another", host="next-door").write(postgres / "server.origin")
    with (postgres / "server.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        code = doctor(None)

    assert code == 1
    assert "runs in another container of this machine ('next-door')" in capsys.readouterr().out
    assert (postgres / "data" / "postmaster.pid").exists()


def test_a_superuser_of_a_server_is_a_warning_and_a_server_that_is_away_a_fault(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database_url: str
) -> None:
    monkeypatch.setenv("DOCMILL_DATA_DIR", str(tmp_path))
    findings: list[tuple[int, str]] = []

    for url in (database_url, login_url(database_url), "postgresql://127.0.0.1:1/nothing"):
        monkeypatch.setenv("DOCMILL_DATABASE_URL", url)
        code = doctor(None)
        findings.append((code, " ".join(capsys.readouterr().out.split())))

    (superuser, bound, away) = findings
    assert superuser[0] == 0
    assert "logs in as a superuser or with BYPASSRLS name a user" in superuser[1]
    assert (bound[0], "logs in as" in bound[1]) == (0, False)
    assert away[0] == 1
    assert "your own server cannot be used" in away[1]


def test_files_open_to_others_are_told_and_closed_on_request(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    blob = tmp_path / "blobs" / "ab"
    blob.parent.mkdir(mode=0o755)
    blob.touch(mode=0o644)

    told = doctor(None, tmp_path)
    printed = capsys.readouterr().out
    asked = doctor(None, tmp_path, fix=True)
    after = capsys.readouterr().out

    assert (told, asked) == (1, 0)
    assert "✗ file modes: 2 files and folders of the vault open to other users" in printed
    assert "docmill doctor --fix" in printed
    assert "2 files and folders closed to other users" in after
    assert blob.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("finding", "mark"),
    [
        (CheckResult("a", "there"), "✓"),
        (CheckResult("a", "gone", "get it"), "✗"),
        (CheckResult("a", "gone", "get it", needed=False), "!"),
    ],
)
def test_a_finding_is_told_by_its_mark(finding: CheckResult, mark: str) -> None:
    assert mark in finding.mark


def test_it_tells_which_protections_are_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def in_a_poor_container() -> list[str]:
        return ["limits"]

    monkeypatch.setattr(doctor_module, "_child_protections", in_a_poor_container)

    assert doctor(None) == 0

    printed = capsys.readouterr().out
    assert f"1 of {len(PROTECTIONS)} protections in force" in printed
    assert PROTECTIONS["network_namespace"] in printed.replace("\n", " ")


def test_processes_that_cannot_be_started_are_a_fault(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def without_processes() -> list[str]:
        raise CrashedError("the process reading this file died")

    monkeypatch.setattr(doctor_module, "_child_protections", without_processes)

    assert doctor(None) == 1
    assert "reading processes: cannot be started" in capsys.readouterr().out
