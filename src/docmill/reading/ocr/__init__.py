"""Recognition of a page's picture on this machine: networks, decoding, spelling."""
