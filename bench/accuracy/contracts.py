"""Measure a finished `docmill run` over the shared contracts: type, parties, day, and what is called ready.

The papers are in two halves by a hash of their name: errors of the first have been looked at, those of the
second have not. Prints the figures of the shared scorer for each, of all papers and of the ready ones.

Usage: docmill run ../shared/data/contracts --out out.jsonl; python -m bench contracts out.jsonl
"""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from tempfile import NamedTemporaryFile

from bench.arguments import argument_parser
from bench.data.shared import DATA

SCORER = DATA.parent / "eval" / "contracts.py"


def is_looked_at(name: str) -> bool:
    """Return whether errors on this paper may be looked at."""
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 0


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("records", type=Path)
    records = parser.parse_args().records
    lines = (DATA / "contracts" / "truth.jsonl").read_text(encoding="utf-8").splitlines()
    ready = {
        Path(record["source"]).stem: record["document_type"]
        for record in map(json.loads, records.read_text(encoding="utf-8").splitlines())
        if record["status"] == "completed"
    }
    for title, half in (("looked at", True), ("not looked at", False)):
        own = [line for line in lines if is_looked_at(json.loads(line)["id"]) is half]
        types = [ready[name] for line in own if (name := json.loads(line)["id"]) in ready]
        others = len(types) - types.count("contract")
        print(f"{title}: {len(own)}, ready {len(types)}, of them of another type {others}", flush=True)
        for papers in (own, [line for line in own if json.loads(line)["id"] in ready]):
            with NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as truth:
                truth.write("\n".join(papers))
                truth.flush()
                subprocess.run([sys.executable, SCORER, truth.name, records], check=True)


if __name__ == "__main__":
    main()
