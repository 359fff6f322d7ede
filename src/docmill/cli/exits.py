"""What the commands' exit codes say; 0 is success."""

FAILED = 1
"""Done, with documents or checks that failed."""

USAGE = 2
"""Nothing was done: a person must change something first."""

INTERRUPTED = 130
"""Ended by Ctrl-C."""
