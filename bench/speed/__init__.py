"""Measurements of time and memory; most need a quiet machine."""
