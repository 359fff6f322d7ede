"""Content of the samples, by kind of document."""
