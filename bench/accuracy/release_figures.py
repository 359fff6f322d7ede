"""Write the release figures of README from those that `python -m bench trust … --keep` has kept.

python -m bench release_figures           # print the table
python -m bench release_figures --write   # write it between the two marks in README.md

The figures are those of `docmill eval --trust`. Every collection has two rows: the papers whose errors were
looked at while docmill was made, and the quarter that was set aside and scored once.
"""

import json
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.arguments import argument_parser

ROOT = Path(__file__).parent.parent.parent
KEPT = ROOT / "bench/results/trust.json"
README = ROOT / "README.md"
BEGIN = "<!-- release figures: `python -m bench release_figures --write` -->"
END = "<!-- end of the release figures -->"
COLLECTIONS = {
    "receipts": "Receipts",
    "photos": "Photographs of receipts",
    "orders": "Orders, own schema",
    "invoices": "Invoices, by their text layer",
    "invoice_pictures": "Invoices as pictures",
}
LOOKED_AT, SET_ASIDE = "looked at", "set aside"
_SHARES = ("ready", "ready_wrong_vital", "ready_wrong_header", "sure_wrong")
_HEADER = (
    "| papers | | ready | of these: wrong date or amount | any wrong field | wrong at 90 % and more | ECE |",
    "|---|---|---|---|---|---|---|",
)

Kept = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""By collection, and `LOOKED_AT` or `SET_ASIDE`: when and at which commit it was measured, and figures."""


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--write", action="store_true", help="write the table into README.md")
    arguments = parser.parse_args()
    table = release_table(load(KEPT))
    print(table)
    if arguments.write:
        README.write_text(with_table(README.read_text(encoding="utf-8"), table), encoding="utf-8")


def load(kept: Path) -> Kept:
    return json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}


def keep(kept: Path, collection: str, figures: Mapping[str, Any], *, is_set_aside: bool) -> None:
    """Keep the figures of one half of a collection in place of earlier ones."""
    content = {name: dict(halves) for name, halves in load(kept).items()}
    entry = {
        "measured": datetime.now(UTC).date().isoformat(),
        "commit": _commit(),
        "documents": figures["documents"],
        **{name: figures[name] for name in _SHARES},
        "ece": figures["ece"],
    }
    content.setdefault(collection, {})[SET_ASIDE if is_set_aside else LOOKED_AT] = entry
    rounded = json.loads(json.dumps(content), parse_float=lambda text: round(float(text), 5))
    kept.write_text(json.dumps(rounded, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _commit() -> str:
    command = ["git", "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def with_table(readme: str, table: str) -> str:
    """README with the table between its two marks."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        message = f"README has no marks {BEGIN} and {END}"
        raise ValueError(message)
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{after}"


def release_table(kept: Kept) -> str:
    rows = [
        _row(title if half == LOOKED_AT or LOOKED_AT not in kept[name] else "", half, kept[name][half])
        for name, title in COLLECTIONS.items()
        for half in (LOOKED_AT, SET_ASIDE)
        if half in kept.get(name, {})
    ]
    return "\n".join([*_HEADER, *rows])


def _row(title: str, half: str, figures: Mapping[str, Any]) -> str:
    ready, vital, header, sure = (figures[name] for name in _SHARES)
    ece = "" if figures["ece"] is None else f"{figures['ece']:.3f}"
    cells = (
        title,
        f"{half}, {figures['documents']}",
        _percent(ready),
        f"{vital['count']} of {vital['of']}{_percent(vital, ', ')}",
        f"{header['count']} of {header['of']}{_percent(header, ', ')}",
        _percent(sure),
        ece,
    )
    return f"| {' | '.join(cells)} |"


def _percent(figure: Mapping[str, Any], before: str = "") -> str:
    if figure["share"] is None:
        return ""
    low, high = (100 * bound for bound in figure["interval"])
    return f"{before}{100 * figure['share']:.1f} % ({low:.0f}-{high:.0f})"


if __name__ == "__main__":
    main()
