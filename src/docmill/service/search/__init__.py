"""Search: what people type as a query of the database, and the places in a text that it finds."""
