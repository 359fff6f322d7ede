"""The functions that run in children of the worker pool, and the calls that render a page there."""
