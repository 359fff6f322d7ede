"""Calibrated probability that a value is right, computed in one way for all fields."""
