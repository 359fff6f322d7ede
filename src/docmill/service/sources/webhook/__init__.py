"""Webhooks: other programs send files, or the addresses of files, with signed requests."""
