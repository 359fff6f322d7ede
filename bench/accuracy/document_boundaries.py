"""Measure the boundaries found in joined documents, and the documents that stay whole as they must.

Usage: python -m bench document_boundaries [--develop] [--errors] [--cache FOLDER]. The PDFs of
../shared/data/adbuy and of the ZUGFeRD corpus are put one after the other as transcriptions. Rules are made
on one half of them (--develop), chosen by their contents' hash, and measured on the other.
"""

import hashlib
import random
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from bench.arguments import argument_parser
from bench.data.shared import DATA
from docmill.errors import DocmillError
from docmill.model import codec
from docmill.model.document import Document, Page, Words
from docmill.reading.child import tasks
from docmill.reading.files.options import ReadingOptions
from docmill.sections.splitting import sections

CONCATENATIONS = 300
MOST = 6
EMPTY_SHARE = 0.2
"""Of joints, those that have an empty page between them."""


def documents(cache: Path, *, develop: bool) -> Iterator[tuple[str, Document]]:
    """Yield one half of the documents, each content once."""
    cache.mkdir(parents=True, exist_ok=True)
    seen: set[str] = set()
    paths = [*DATA.glob("adbuy/pdf/*.pdf"), *DATA.glob("einvoice/zugferd-corpus/**/*.pdf")]
    for path in sorted(paths):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if digest in seen or (int(digest, 16) % 2 == 0) != develop:
            continue
        seen.add(digest)
        stored = cache / f"{digest}.transcription"
        if not stored.exists():
            try:
                opened = tasks.open_original(path, ReadingOptions())
            except DocmillError:
                continue
            if None in opened.pages:
                continue
            pages = [page for page in opened.pages if page is not None]
            stored.write_bytes(codec.dumps(Document(digest, opened.media_type, pages)))
        yield path.stem, codec.loads(stored.read_bytes())


def joined(parts: Iterable[Document], draw: random.Random) -> tuple[Document, set[int]]:
    """Join the parts to one document; return it with the pages where the second and later parts begin."""
    pages: list[Page] = []
    starts: set[int] = set()
    for part in parts:
        if pages:
            if draw.random() < EMPTY_SHARE:
                pages.append(replace(pages[-1], words=Words.none(), tables=()))
            starts.add(len(pages) + 1)
        pages.extend(part.pages)
    numbered = [replace(page, number=number) for number, page in enumerate(pages, 1)]
    return Document("0" * 64, "application/pdf", numbered), starts


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--develop", action="store_true")
    parser.add_argument("--errors", action="store_true")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "docmill-bench-splitting")
    arguments = parser.parse_args()
    loaded = dict(documents(arguments.cache, develop=arguments.develop))
    several = {name: document for name, document in loaded.items() if len(document.pages) > 1}
    torn = [name for name, document in several.items() if len(sections(document)) > 1]
    print(f"whole: {len(several) - len(torn)} of {len(several)} documents of several pages stay whole")
    if arguments.errors:
        for name in torn:
            print("  torn", name, [(part.start, part.stop - 1) for part in sections(several[name])])
    draw = random.Random(2026)
    right = invented = missed = 0
    for _ in range(CONCATENATIONS):
        names = draw.sample(sorted(loaded), draw.randint(2, MOST))
        whole, starts = joined((loaded[name] for name in names), draw)
        found = {part.start for part in sections(whole)[1:]}
        right += len(found & starts)
        invented += len(found - starts)
        missed += len(starts - found)
        if arguments.errors and found != starts:
            print("  ", names, "invented", sorted(found - starts), "missed", sorted(starts - found))
    print(
        f"boundaries: precision {right / max(1, right + invented):.3f} ({right} of {right + invented}), "
        f"recall {right / (right + missed):.3f} (of {right + missed})"
    )


if __name__ == "__main__":
    main()
