"""Events for clients, wake-ups between processes, the outbox."""
