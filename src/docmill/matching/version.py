"""The version of matching, by which stored records and pairs are known to be out of date."""

MATCHING_VERSION = 5
"""Raised whenever records, keys, levels of evidence or weights change: a vault then matches all anew."""
