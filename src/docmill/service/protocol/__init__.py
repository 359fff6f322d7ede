"""Decisions about claims, retries and pauses: pure functions without input or output."""
