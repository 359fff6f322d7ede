"""Time and memory: each of these may need a quiet machine."""
