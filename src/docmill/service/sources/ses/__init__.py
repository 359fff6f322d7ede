"""Mails that Amazon SES receives and writes to a bucket."""
