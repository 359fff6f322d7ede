"""Mail files: MIME messages, Outlook messages, TNEF, S/MIME."""
