"""Runs every benchmark of a speed we claim, one after the other, and prints what each measured."""

import subprocess
import sys

SPEEDS = {
    "bench.run_ocr": "recognition through `docmill run`, beside OCRmyPDF and bare RapidOCR",
    "bench.reading_pdf": "born-digital PDF, beside bare PDFium",
    "bench.protocol": "the worker with steps that do nothing, beside procrastinate and pgqueuer",
    "bench.in_flight": "a thousand documents waiting for a model in one worker",
    "bench.idle": "cost of doing nothing, and how fast a worker wakes",
    "bench.startup": "start of the vault, import of the library",
    "bench.simulation": "schedules of the worker's protocol, none of which may break a promise",
}


def main() -> None:
    chosen = sys.argv[1:] or list(SPEEDS)
    for module in chosen:
        print(f"\n{module}: {SPEEDS.get(module, '')}", flush=True)
        subprocess.run([sys.executable, "-m", module], check=True)


if __name__ == "__main__":
    main()
