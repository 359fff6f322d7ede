"""People for tests, and a browser of theirs."""

PASSWORD = "correct horse battery"
