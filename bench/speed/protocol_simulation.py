"""Try schedules of the worker's protocol, of which none may break a promise, and count those of a second."""

import logging
import sys
import time

from bench.arguments import argument_parser
from bench.data.shared import ROOT

sys.path.insert(0, str(ROOT / "tests"))

from simulation.explorer import PROTOCOL, explore, told
from simulation.matching import MATCHING


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("seed", type=int, nargs="?", help="print what happens in the schedule of this seed")
    parser.add_argument("--schedules", type=int, default=100_000, help="schedules to try (100,000)")
    parser.add_argument("--matching", action="store_true", help="of the protocol of matching")
    options = parser.parse_args()
    variant = MATCHING if options.matching else PROTOCOL
    if options.seed is not None:
        print(told(options.seed, variant=variant))
        return
    logging.disable()  # a pause that a person must end is a warning
    started, busy = time.perf_counter(), time.process_time()
    finding = explore(options.schedules, variant=variant)
    seconds, busy = time.perf_counter() - started, time.process_time() - busy
    if finding is not None:
        sys.exit(str(finding))
    print(f"{options.schedules:,} schedules, no promise broken   (goal: 100,000 in 60 s of one core)")
    rate = options.schedules / busy
    print(f"{seconds:.1f} s, of which {busy:.1f} s on the core: {rate:.0f} schedules a second")


if __name__ == "__main__":
    main()
