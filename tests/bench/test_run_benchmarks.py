"""The benchmarks of runs do what they say, at a small size."""

from bench.speed import run_overhead


def test_the_overhead_of_runs_is_measured_beside_that_of_the_peer() -> None:
    costs = run_overhead.measure(40, [10, 20], 1)

    assert all(0 < cost.wall_us < 1e6 for cost in costs.values())
    assert {"docmill, in memory", "docmill, SQLite, 20", "peer, checkpoints, 20"} <= set(costs)
    run_overhead.print_table(costs, [10, 20])
