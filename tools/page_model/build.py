"""Build the files from which the page model learns.

python -m tools.page_model.build --out DIR                  # all sources; what was recognised is kept in DIR
python -m tools.page_model.build --out DIR --only sroie     # one of them
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from bench.accuracy.trust import is_set_aside
from bench.data import receipts, world

from docmill.understanding.page_model.seen import LABEL, NONE
from tools.page_model.augment import read_again
from tools.page_model.made_up import made_up_demo_papers, made_up_party_pages, made_up_receipts
from tools.page_model.pdf_sources import adbuy_samples, contract_samples, einvoice_samples
from tools.page_model.photographs import keep_photographed
from tools.page_model.readings import keep_readings, kept_readings
from tools.page_model.samples import Sample, write_samples
from tools.page_model.sources import kept_back_vendors, sroie_samples, world_samples
from tools.page_model.tills import till_receipts

_TILLS, _RECEIPTS, _PARTY_PAGES, _DEMO_PAPERS, _SEED = 4000, 1000, 1500, 1000, 36
_Source = Callable[[Path], Iterator[Sample]]


def _world(out: Path) -> Iterator[Sample]:
    yield from world_samples(out / "world-pictures", "world")


def _world_pdf(out: Path) -> Iterator[Sample]:
    yield from world_samples(out / "world-pdf", "world-pdf")


def _photographed(out: Path) -> Iterator[Sample]:
    """The receipts of both collections as photographs; what is set aside is not photographed."""
    known = world.labels()
    papers = sorted((out / "world-pictures").glob("*.png"))
    scans = [path for path in papers if path.stem in known and not is_set_aside(known[path.stem]["vendor"])]
    keep_photographed(scans, out / "world-photographed")
    yield from world_samples(out / "world-photographed", "world-photographed")
    vendors = receipts.vendor_groups(receipts.keys())
    pictures = [
        path
        for path in sorted((receipts.SROIE / "img").iterdir())
        if vendors[path.stem] not in kept_back_vendors()
    ]
    keep_photographed(pictures, out / "sroie-photographed")
    yield from sroie_samples(kept_readings(out / "sroie-photographed"), "sroie-photographed")


def _made_up() -> Iterator[Sample]:
    for number, receipt in enumerate(till_receipts(_TILLS, seed=_SEED)):
        yield read_again(receipt, _SEED) if number % 2 else receipt
    yield from made_up_receipts(_RECEIPTS, seed=_SEED)
    yield from made_up_party_pages(_PARTY_PAGES, seed=_SEED)
    yield from made_up_demo_papers(_DEMO_PAPERS, seed=_SEED)


SOURCES: Mapping[str, _Source] = {
    "world": _world,
    "world-pdf": _world_pdf,
    "photographed": _photographed,
    "sroie": lambda _: sroie_samples(receipts.documents(), "sroie"),
    "adbuy": lambda _: adbuy_samples(),
    "contracts": lambda _: contract_samples(),
    "einvoices": lambda _: einvoice_samples(),
    "made-up": lambda _: _made_up(),
}
"""Each file of samples, by its name without endings."""


class LabelCounts:
    """Counts of samples, and of papers on which a field was found among those that have it."""

    def __init__(self) -> None:
        self._samples = 0
        self._has: set[tuple[str, str]] = set()
        self._found: set[tuple[str, str]] = set()
        self._words: Counter[str] = Counter()

    def passing(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        """Yield the samples, and count them."""
        for sample in samples:
            self._samples += 1
            paper = sample.key.partition("#")[0]
            self._has.update((path, paper) for path in sample.values)
            self._found.update((path, paper) for path in sample.values.keys() & set(sample.roles))
            self._words.update(
                "unknown"
                if role is None
                else NONE
                if role == NONE
                else "label"
                if role.startswith(LABEL)
                else "value"
                for role in sample.roles
            )
            yield sample

    def __str__(self) -> str:
        words = ", ".join(f"{count} {kind}" for kind, count in sorted(self._words.items()))
        has, found = (Counter(path for path, _ in each) for each in (self._has, self._found))
        fields = "".join(
            f"\n  {path:24}{found[path]:6} of {count:6}  {100 * found[path] / count:5.1f} %"
            for path, count in sorted(has.items())
        )
        return f"{self._samples} pages; words: {words}{fields}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Build the files that the command line names."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.page_model.build",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of the files")
    parser.add_argument("--only", nargs="+", choices=SOURCES, default=list(SOURCES), help="build these")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    if {"world", "world-pdf", "photographed"} & set(options.only):
        keep_readings(options.out)
    for name in options.only:
        counts = LabelCounts()
        write_samples(options.out / f"{name}.jsonl.gz", counts.passing(SOURCES[name](options.out)))
        sys.stdout.write(f"{name}: {counts}\n")


if __name__ == "__main__":
    main()
