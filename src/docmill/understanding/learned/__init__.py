"""Receipts by what was learned from labelled ones: lines tagged, spans and amounts scored, in plain numpy."""
