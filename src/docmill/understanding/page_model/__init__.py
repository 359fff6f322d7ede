"""The roles of the words of a page, as a small network sees them."""
