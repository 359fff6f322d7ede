"""Mails as items of a source: what the ways by which they come (IMAP, SMTP, buckets) have in common."""
