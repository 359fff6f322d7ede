"""Files of the vault and the embedded PostgreSQL server."""
