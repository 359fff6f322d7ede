"""How many schedules of the protocol are tried in a second. With a seed: the story of its schedule."""

import sys
import time

from bench.data.shared import ROOT

sys.path.insert(0, str(ROOT / "tests"))

from simulation.explorer import explore, told

SCHEDULES = 100_000


def main() -> None:
    if len(sys.argv) > 1:
        print(told(int(sys.argv[1])))
        return
    started, busy = time.perf_counter(), time.process_time()
    finding = explore(SCHEDULES)
    seconds, busy = time.perf_counter() - started, time.process_time() - busy
    if finding is not None:
        sys.exit(str(finding))
    print(f"{SCHEDULES} schedules, no promise broken   (goal: 100,000 in 60 s of one core)")
    print(f"{seconds:.1f} s, of which {busy:.1f} s on the core: {SCHEDULES / busy:.0f} schedules a second")


if __name__ == "__main__":
    main()
