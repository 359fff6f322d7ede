"""Everything that docmill says of the documents of the benchmarks, recorded and compared."""
