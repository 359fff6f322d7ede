"""The command line that all benchmarks share."""

import argparse
import sys
from pathlib import Path


def argument_parser(explanation: str | None) -> argparse.ArgumentParser:
    """Return a parser whose help shows the module's docstring as it is written."""
    path = Path(sys.argv[0])
    name = path.parent.name if path.stem == "__main__" else path.stem
    return argparse.ArgumentParser(
        prog=f"python -m bench {name}",
        description=explanation,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
