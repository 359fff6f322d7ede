"""Layout families: each draws a paper in a manner of its own."""
