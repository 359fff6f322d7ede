"""Measure the pictures per minute of `docmill run`, beside OCRmyPDF and bare RapidOCR.

Each has as many processes, and its time holds everything from the start of the first to the last result,
loading of models included. They take turns, there and back, so that a slow spell of the machine does not
favour one. CPU time is told as well, which depends less on what else the machine does.

OCRmyPDF, with Tesseract at its defaults, is run in two ways: for each picture by itself, two at a time, and
once for a PDF that holds all pictures, which saves it its starts. The Debian packages tesseract-ocr and
ghostscript are needed.
"""

import multiprocessing
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

from PIL import Image

from bench.arguments import argument_parser
from bench.data.shared import DATA, ROOT

THREADS = {
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
}
PEERS = ROOT / ".emulators" / "peers" / "bin"
DPI = 150
"""The resolution that OCRmyPDF assumes for pictures that name none."""
GOALS = {
    "bare RapidOCR": 0.9,
    "OCRmyPDF, picture by picture": 1.5,
    "OCRmyPDF, one PDF of all": 1.5,
}
OURS = "docmill run"


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--images", type=int, default=40)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1, help="each there and back")
    arguments = parser.parse_args()
    subprocess.run([ROOT / "scripts" / "system-packages", "tesseract-ocr", "ghostscript"], check=True)
    subprocess.run([ROOT / "scripts" / "emulators", "peers"], check=True)
    ways = {
        OURS: run_docmill,
        "OCRmyPDF, picture by picture": run_ocrmypdf,
        "OCRmyPDF, one PDF of all": run_ocrmypdf_once,
        "bare RapidOCR": run_bare,
    }
    taken: dict[str, list[float]] = {name: [] for name in ways}
    cpu = dict.fromkeys(ways, 0.0)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "images"
        folder.mkdir()
        for image in sorted((DATA / "sroie/img").iterdir())[: arguments.images]:
            shutil.copy(image, folder)
        for _ in range(arguments.rounds):
            for name in (*ways, *reversed(ways)):
                before = cpu_of_children()
                taken[name].append(ways[name](folder, arguments.processes))
                cpu[name] += cpu_of_children() - before
    show(taken, cpu, arguments.images)


def cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def show(taken: dict[str, list[float]], cpu: dict[str, float], count: int) -> None:
    for name, seconds in taken.items():
        read = count * len(seconds)
        print(
            f"{name:30} {60 * read / sum(seconds):6.1f} pictures/min, {cpu[name] / read:5.2f} s of CPU each"
            f"   {[round(one, 1) for one in seconds]} s"
        )
    for name, goal in GOALS.items():
        by_clock, by_cpu = sum(taken[name]) / sum(taken[OURS]), cpu[name] / cpu[OURS]
        print(
            f"beside {name:30} {by_clock:5.2f} by the clock, {by_cpu:5.2f} by CPU   (goal: at least {goal})"
        )


def run_docmill(folder: Path, processes: int) -> float:
    out = folder.parent / "out.jsonl"
    command = [Path(sys.executable).with_name("docmill"), "run", folder, "--out", out, "--fresh", "--quiet"]
    started = time.perf_counter()
    subprocess.run([*command, "--jobs", str(processes)], check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - started
    assert len(out.read_text().splitlines()) == len(list(folder.iterdir()))
    return seconds


def run_ocrmypdf(folder: Path, processes: int) -> float:
    """Run as many commands at a time as processes, each with one worker."""
    with tempfile.TemporaryDirectory() as out, ThreadPool(processes) as pool:
        started = time.perf_counter()
        pool.map(partial(_ocrmypdf, jobs=1, out=Path(out)), sorted(folder.iterdir()), chunksize=1)
        seconds = time.perf_counter() - started
        assert len(list(Path(out).iterdir())) == len(list(folder.iterdir()))
    return seconds


def run_ocrmypdf_once(folder: Path, processes: int) -> float:
    """Run one command with as many workers; making the PDF is not timed."""
    with tempfile.TemporaryDirectory() as out:
        whole = Path(out) / "whole.pdf"
        pages = [Image.open(path) for path in sorted(folder.iterdir())]
        pages[0].save(whole, save_all=True, append_images=pages[1:], resolution=DPI)
        started = time.perf_counter()
        _ocrmypdf(whole, jobs=processes, out=Path(out))
        return time.perf_counter() - started


def _ocrmypdf(path: Path, *, jobs: int, out: Path) -> None:
    command = [PEERS / "python", "-m", "ocrmypdf", "--quiet", "--jobs", str(jobs), "--image-dpi", str(DPI)]
    subprocess.run([*command, path, out / f"{path.stem}-read.pdf"], check=True, stderr=subprocess.DEVNULL)


def run_bare(folder: Path, processes: int) -> float:
    images = sorted(folder.iterdir())
    started = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(processes, initializer=_load) as pool:
        read = sum(1 for _ in pool.imap_unordered(_read, map(str, images)))
    seconds = time.perf_counter() - started
    assert read == len(images)
    return seconds


def _load() -> None:
    from rapidocr import RapidOCR  # noqa: PLC0415  in the child only

    global _engine  # noqa: PLW0603  one engine per child
    _engine = RapidOCR(params={**THREADS, "Global.log_level": "critical"})


def _read(path: str) -> int:
    result: Any = _engine(path)
    return len(result.txts or ())


if __name__ == "__main__":
    main()
