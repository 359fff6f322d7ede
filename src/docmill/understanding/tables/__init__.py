"""Items of a document: rows of its tables."""
