"""The type, title, summary and tags of a document."""
