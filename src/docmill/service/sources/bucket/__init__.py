"""Buckets of Amazon S3 and of what speaks its protocol."""
