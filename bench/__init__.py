"""Every number we claim, each a command: `python -m bench` lists them."""
