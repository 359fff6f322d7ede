"""Lines, reading order and tables from words; pages typeset for files that have none."""
