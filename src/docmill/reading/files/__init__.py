"""What a file is, before it is read: its type, passwords, limits on reading it."""
