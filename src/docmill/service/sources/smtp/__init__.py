"""Mails that are sent to addresses of sources: a receiver that speaks SMTP, and no relay."""
