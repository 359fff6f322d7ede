"""Settings of the service: files, environment, user schemas."""
