"""Fits of constants that src holds."""
