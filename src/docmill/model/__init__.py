"""Documents and results: frozen data that every room shares. Imports errors only."""
