"""Splitting of a file that holds several documents into sections."""
