"""Layout of a page: its segments, the labels around values, conventions of dates and numbers, titles."""
