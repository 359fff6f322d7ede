"""The look of a page: segments, contexts of values, conventions, titles."""
