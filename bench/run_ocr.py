"""Documents a minute through `docmill run`, beside bare RapidOCR in as many processes on the same images.

Both times hold everything from the start of the first process to the last result, loading of models included.
The two take turns (bare, docmill, docmill, bare), so that a slow spell of the machine does not favour one.
"""

import argparse
import multiprocessing
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.scorer import DATA

THREADS = {
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--images", type=int, default=40)
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "images"
        folder.mkdir()
        for image in sorted((DATA / "sroie/img").iterdir())[: arguments.images]:
            shutil.copy(image, folder)
        bare: list[float] = []
        ours: list[float] = []
        for mine in (False, True, True, False):
            seconds = (run_docmill if mine else run_bare)(folder, arguments.processes)
            (ours if mine else bare).append(seconds)
    count = arguments.images
    print(f"bare RapidOCR  {60 * count * 2 / sum(bare):6.1f} documents/min   {[round(s, 1) for s in bare]} s")
    print(f"docmill run    {60 * count * 2 / sum(ours):6.1f} documents/min   {[round(s, 1) for s in ours]} s")
    print(f"ratio          {sum(bare) / sum(ours):6.2f}   (goal: at least 0.9)")


def run_docmill(folder: Path, processes: int) -> float:
    out = folder.parent / "out.jsonl"
    command = [Path(sys.executable).with_name("docmill"), "run", folder, "--out", out, "--fresh", "--quiet"]
    started = time.perf_counter()
    subprocess.run([*command, "--jobs", str(processes)], check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - started
    assert len(out.read_text().splitlines()) == len(list(folder.iterdir()))
    return seconds


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
