"""Mailboxes of Gmail: Google tells of new mails by a push, and they are fetched through its API."""
