"""Models trained on receipts: they score spans of text and amounts."""
