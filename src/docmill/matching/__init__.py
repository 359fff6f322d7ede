"""Matching: which documents belong together, why, and where they differ. Pure functions; no SQL, no HTTP."""
