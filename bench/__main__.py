"""Lists the benchmarks and runs them.

python -m bench                   # every benchmark: what it measures, its goal, newest figure, what it needs
python -m bench NAME [ARGUMENTS]  # one of them; NAME --help explains it
python -m bench speed             # all of a group: speed, accuracy, fit, other; all for all. Left out is what
                                  # needs arguments or takes more than half an hour
"""

import os
import subprocess
import sys

from bench.data.shared import DATA
from bench.registry import BENCHMARKS, BY_NAME, GROUPS, Benchmark, newest_figures


def main() -> None:
    match sys.argv[1:]:
        case []:
            print_list()
        case ["-h" | "--help"]:
            print(__doc__)
        case [group] if group in (*GROUPS, "all"):
            run_group(group)
        case [name, *arguments] if name in BY_NAME:
            os.execv(sys.executable, command(BY_NAME[name], arguments))  # noqa: S606 - our own module
        case [*arguments]:
            sys.exit(f"there is no benchmark {arguments[0]}; python -m bench lists them")


def command(benchmark: Benchmark, arguments: list[str]) -> list[str]:
    return [sys.executable, "-m", benchmark.module, *arguments]


def print_list() -> None:
    figures = newest_figures()
    for group in GROUPS:
        print(f"\n{group}")
        for benchmark in BENCHMARKS:
            if benchmark.group == group:
                figure = figures[benchmark.name]
                goal = f" | goal {figure.goal}" if figure.goal else ""
                newest = f" | newest {figure.newest}" if figure.newest else ""
                print(f"  {benchmark.name:<22} {figure.measures}{goal}{newest} | {benchmark.needs}")
    print("\nRun one by `python -m bench NAME [ARGUMENTS]`; `NAME --help` explains it.")


def run_group(group: str) -> None:
    """Run all benchmarks of a group, each in a process of its own. Exits with 1 where one of them did not."""
    failed: list[str] = []
    for benchmark in BENCHMARKS:
        if group not in (benchmark.group, "all"):
            continue
        print(f"\n{benchmark.name}: {newest_figures()[benchmark.name].measures}", flush=True)
        if benchmark.left_out:
            print(f"left out: {benchmark.left_out}")
        elif benchmark.data and not DATA.exists():
            print(f"left out: {DATA} is absent")
        elif subprocess.run(command(benchmark, []), check=False).returncode:
            failed.append(benchmark.name)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
