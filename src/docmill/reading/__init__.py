"""From a file's bytes to a `Document`. Code that opens a file runs in children of the worker pool only."""
