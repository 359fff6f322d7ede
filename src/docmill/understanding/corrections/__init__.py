"""Corrections that reviewers made, and how they are applied to later documents."""
