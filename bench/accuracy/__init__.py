"""Accuracy against truth that is known; most of it lies in ../shared/data, beside the repository."""
