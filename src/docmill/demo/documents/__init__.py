"""What the samples say, by kind of document."""
