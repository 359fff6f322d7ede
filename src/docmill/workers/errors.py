"""The error of running out of memory; in a module of its own, as a child's own module has no name there."""

from docmill.errors import TooLargeError


class OutOfMemoryError(TooLargeError):
    """The task needed more than its process may allocate, or than what earlier tasks left of that."""
