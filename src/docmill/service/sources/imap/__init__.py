"""Mailboxes: mails are fetched from a server by IMAP."""
