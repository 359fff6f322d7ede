"""Commands on files and folders that need no vault: `run`, `extract`, `eval`, `learn`."""
