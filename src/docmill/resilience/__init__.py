"""Time limits, circuit breakers and spending limits for calls that can fail or cost money."""
