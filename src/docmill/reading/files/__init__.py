"""File types, passwords, and the limits on reading a file."""
