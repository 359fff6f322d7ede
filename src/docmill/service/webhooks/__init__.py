"""Webhooks: programs of a tenant are told what happened to its documents."""
