"""Commands that start or open a vault: `up`, `web`, `worker`, `add`, `show`, `status`, `dead`, `demo`."""
