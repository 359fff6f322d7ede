"""The benchmarks: each figure that we claim is a command, and `python -m bench` lists them."""
