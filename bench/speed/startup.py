"""Measure the time of `import docmill`, and of `docmill up` until it answers: first and later starts."""

import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from urllib.error import URLError

from bench.arguments import argument_parser

DOCMILL = Path(sys.executable).with_name("docmill")


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--starts", type=int, default=5, help="starts after the first one (5)")
    later_starts = parser.parse_args().starts
    imports = [_import_seconds() for _ in range(7)]
    print(f"import docmill       {statistics.median(imports):.3f} s median of 7   (goal: at most 0.3)")
    with tempfile.TemporaryDirectory() as folder:
        first = _start_seconds(Path(folder))
        warm = [_start_seconds(Path(folder)) for _ in range(later_starts)]
    print(f"docmill up, first    {first:.2f} s   (goal: at most 10)")
    median, worst = statistics.median(warm), max(warm)
    print(
        f"docmill up, later    {median:.2f} s median of {later_starts}, {worst:.2f} s worst (goal: at most 3)"
    )


def _import_seconds() -> float:
    code = "import time; t = time.perf_counter(); import docmill; print(time.perf_counter() - t)"
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)


def _start_seconds(data: Path) -> float:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    started = time.perf_counter()
    vault = subprocess.Popen(
        [DOCMILL, "up", "--data-dir", data, "--port", str(port)], stdout=subprocess.DEVNULL
    )
    try:
        while not _answers(port):
            assert vault.poll() is None, "docmill up ended"
            time.sleep(0.02)
        return time.perf_counter() - started
    finally:
        vault.send_signal(signal.SIGTERM)
        vault.wait(60)


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=1) as answer:
            return answer.status == 200
    except (URLError, OSError):
        return False


if __name__ == "__main__":
    main()
