"""Candidates for the values of fields, and the weights that rank them."""
