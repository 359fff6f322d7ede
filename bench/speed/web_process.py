"""A web server of docmill in a process of its own, as a user starts it, for benchmarks of the pages."""

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from docmill.service.config.settings import Settings

DOCMILL = Path(sys.executable).with_name("docmill")


@dataclass(frozen=True)
class WebProcess:
    """The process and the address of its pages, which ends with a slash."""

    process: psutil.Process
    address: str


@contextmanager
def web_process(settings: Settings, *arguments: str) -> Generator[WebProcess]:
    """Run `docmill web` on the folder of `settings` during the block."""
    running = subprocess.Popen(
        [DOCMILL, "web", "--data-dir", settings.folder, "--port", "0", *arguments],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    try:
        said = running.stdout.readline()
        yield WebProcess(psutil.Process(running.pid), "http://" + said.partition("http://")[2].strip())
    finally:
        running.terminate()
        running.wait(60)


def memory_of(web: WebProcess) -> float:
    """The resident memory of the server and its children, in MB."""
    processes = [web.process, *web.process.children(recursive=True)]
    return sum(process.memory_info().rss for process in processes) / 1_000_000
