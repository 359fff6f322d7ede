"""Fields of a user's own schema."""
