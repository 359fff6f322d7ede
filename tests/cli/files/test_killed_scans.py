"""A long scan survives kills of `docmill run`, page by page."""

import json
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from docmill.cli.files.run import RunOptions, run_folder
from docmill.runs.write_behind import StoredJournal

DOCMILL = Path(sys.executable).with_name("docmill")
FONT = "/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf"
PAGES = 17
"""They are kept eight by eight."""


def write_scan(path: Path) -> None:
    font = ImageFont.truetype(FONT, 36)
    pages: list[Image.Image] = []
    for number in range(1, PAGES + 1):
        page = Image.new("L", (620, 150), 255)
        ImageDraw.Draw(page).text((30, 50), f"Page {number} says nothing new", fill=0, font=font)
        pages.append(page)
    pages[0].save(path, save_all=True, append_images=pages[1:])


def kept_pages(store: Path) -> set[str]:
    """Names of the entries of recognised pages that the state store has."""
    if not store.is_file():
        return set()
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=10) as database:
        try:
            found = database.execute("SELECT stage FROM stage_results").fetchall()
        except sqlite3.OperationalError:  # not made yet
            return set()
    return {name for (name,) in found if "/pages/" in name}


def test_pages_that_were_recognised_before_a_kill_are_not_recognised_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, out, store = tmp_path / "inbox", tmp_path / "out.jsonl", tmp_path / ".docmill" / "runs.sqlite"
    folder.mkdir()
    write_scan(folder / "scan.tiff")
    with subprocess.Popen([DOCMILL, "run", folder, "--out", out, "--jobs", "1", "--quiet"]) as process:
        until = time.monotonic() + 120
        while not kept_pages(store) and process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    kept = kept_pages(store)
    assert kept
    written: list[str] = []
    replace = StoredJournal.replace

    async def note(self: StoredJournal, step: str, result: bytes) -> None:
        written.append(step)
        await replace(self, step, result)

    monkeypatch.setattr(StoredJournal, "replace", note)

    assert run_folder(RunOptions(folder=folder, out=out, jobs=1, quiet=True)) == 0

    anew = {step for step in written if step.startswith("pages/")}
    assert anew
    assert not {step for step in anew if any(name.endswith(step) for name in kept)}
    (record,) = map(json.loads, out.read_text().splitlines())
    assert record["status"] in ("completed", "needs_review")
    assert record["attempts"] == 1
    assert kept_pages(store) == set()
