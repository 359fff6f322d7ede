"""Where one file holds several documents: the pages at which each begins."""
