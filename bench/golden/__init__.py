"""The golden record: docmill's complete output for the documents of the benchmarks, to be compared."""
