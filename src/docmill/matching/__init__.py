"""Matching: which documents belong together, why, and where they differ. Pure functions; no SQL, no HTTP."""

from docmill.matching.match import match
from docmill.matching.record_building import records_of

__all__ = ["match", "records_of"]
