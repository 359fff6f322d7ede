"""Web servers and workers as real processes, one of which is killed, to show that nothing is lost."""
