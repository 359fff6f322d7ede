"""Accuracy, measured against labels; most of them lie in ../shared/data, beside the repository."""
