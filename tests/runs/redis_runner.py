"""A runner in a process of its own: `redis_runner.py ADDRESS OUT`. Begins when it is told so on its input."""

import sys

from tests.runs.components import text_pipeline
from tests.runs.killed_run import BusyExtractor

from docmill.runs.components.json_lines import JsonLinesExporter
from docmill.runs.policy import RunPolicy


def main(address: str, out: str) -> None:
    pipeline = text_pipeline(
        extractor=BusyExtractor(),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        exporter=JsonLinesExporter(out),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        policy=RunPolicy(concurrency=8, lease_s=0.6),
    )
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    report = pipeline.resume("run", lists=False, store=address)
    sys.stdout.write(f"{report}\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
