"""`docmill run` on a disk that is full for a while."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from docmill.cli.console import FAILED
from docmill.cli.files.run import RunOptions, run_folder
from docmill.errors import MisconfiguredError
from docmill.runs import engine

DOCMILL = Path(sys.executable).with_name("docmill")
MOUNT = "/usr/bin/mount"
INVOICE = """Invoice
Harbour Ltd
Invoice number {number}
Date 05.03.2024
Net 20.00
VAT 20 % 4.00
Total 24.00 EUR
"""
COUNT = 8


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "inbox"
    folder.mkdir()
    for number in range(COUNT):
        (folder / f"{number}.txt").write_text(INVOICE.format(number=f"R-{number}"))
    return folder


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for some of the records."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        [MOUNT, "-t", "tmpfs", "-o", "size=12k", "tmpfs", disk], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("this user may not mount file systems")
    try:
        yield disk
    finally:
        subprocess.run(["/usr/bin/umount", disk], check=True)


def sources(out: Path) -> list[str]:
    return [json.loads(line)["source"] for line in out.read_text().splitlines()]


def options(folder: Path, out: Path) -> RunOptions:
    return RunOptions(folder=folder, out=out, jobs=1, store=str(folder.with_name("runs.sqlite")))


def test_a_run_stops_on_a_full_disk_and_the_next_one_completes_it(
    folder: Path, disk: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(engine, "STORE_DELAYS_S", (0.05, 0.05))
    out = disk / "out.jsonl"

    with pytest.raises(MisconfiguredError, match=r"No space left on device\. What was written is whole"):
        run_folder(options(folder, out))

    written = sources(out)
    assert len(set(written)) == len(written) < COUNT
    assert "No space left on device; tried again in 0.05 s" in caplog.text

    subprocess.run([MOUNT, "-o", "remount,size=1m", disk], check=True)
    assert run_folder(options(folder, out)) == 0
    assert sorted(sources(out)) == sorted(f"{number}.txt" for number in range(COUNT))
    assert sources(out)[: len(written)] == written


def test_a_disk_that_has_room_again_in_time_loses_and_doubles_nothing(
    folder: Path, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Delays:
        def __iter__(self) -> Iterator[float]:
            for _ in range(2):
                subprocess.run([MOUNT, "-o", "remount,size=1m", disk], check=True)
                yield 0.05

    monkeypatch.setattr(engine, "STORE_DELAYS_S", Delays())
    out = disk / "out.jsonl"

    assert run_folder(options(folder, out)) == 0
    assert sorted(sources(out)) == sorted(f"{number}.txt" for number in range(COUNT))


def test_a_torn_record_of_an_earlier_run_is_read_again_and_told(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.jsonl"
    assert run_folder(options(folder, out)) == 0
    out.write_bytes(out.read_bytes()[:-20])
    capsys.readouterr()

    assert run_folder(options(folder, out)) == 0

    assert "1 record that an earlier run did not finish" in capsys.readouterr().err
    assert sorted(sources(out)) == sorted(f"{number}.txt" for number in range(COUNT))


def test_a_run_whose_lines_nobody_can_take_still_writes_its_records(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"

    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [DOCMILL, "run", folder, "--out", out, "--jobs", "1"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=120,
        )

    assert done.returncode == FAILED
    assert done.stderr == "docmill: cannot print: No space left on device; the records are still written\n"
    assert sorted(sources(out)) == sorted(f"{number}.txt" for number in range(COUNT))


def test_a_command_that_cannot_print_says_so_in_one_sentence(folder: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [DOCMILL, "extract", folder / "0.txt", "--schema", "invoice"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=120,
        )

    assert done.returncode == FAILED
    assert done.stderr == "docmill: cannot print: No space left on device\n"
