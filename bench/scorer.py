"""The former place of `bench.data.shared`, until the last import of it has moved."""

from bench.data.shared import DATA, SHARED, load_scorer

__all__ = ["DATA", "SHARED", "load_scorer"]
