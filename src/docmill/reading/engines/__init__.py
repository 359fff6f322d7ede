"""Recognition engines: which one reads a page, and those that run on another machine."""
