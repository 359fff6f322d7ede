"""Runs a benchmark by its name: `python -m bench NAME [ARGUMENTS]`; without one, every speed we claim."""

import os
import subprocess
import sys
from importlib.util import find_spec

FOLDERS = ("speed", "accuracy", "fit")
SPEEDS = (
    "run_ocr",
    "reading_pdf",
    "worker_throughput",
    "in_flight",
    "idle",
    "startup",
    "protocol_simulation",
)


def module_of(name: str) -> str:
    """The module of a benchmark. Raises SystemExit where there is none of that name."""
    for module in (f"bench.{name}", *(f"bench.{folder}.{name}" for folder in FOLDERS)):
        if find_spec(module) is not None:
            return module
    sys.exit(f"there is no benchmark {name}")


def main() -> None:
    if sys.argv[1:]:
        os.execv(sys.executable, [sys.executable, "-m", module_of(sys.argv[1]), *sys.argv[2:]])  # noqa: S606
    for name in SPEEDS:
        print(f"\n{name}", flush=True)
        subprocess.run([sys.executable, "-m", module_of(name)], check=True)


if __name__ == "__main__":
    main()
