"""Tasks, signals and group commits in the event loop."""
