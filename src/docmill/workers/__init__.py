"""Pool of sandboxed child processes. Knows no file format: callers say which function a child runs."""
