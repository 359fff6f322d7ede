"""What a page looks like: segments, neighbours, conventions, titles."""
