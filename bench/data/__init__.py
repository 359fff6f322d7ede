"""Documents and truths that several benchmarks read."""
