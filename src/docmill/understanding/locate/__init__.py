"""Where a given value stands in a document."""
