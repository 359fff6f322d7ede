"""The search for given values in a document."""
