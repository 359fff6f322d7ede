"""Measure how the photographs are read: labelled texts read where they stand, rows kept together, time.

python -m bench photo_reading                   # every photograph that is not set aside
python -m bench photo_reading --sample 40       # a fixed random choice of them
python -m bench photo_reading --cache FOLDER    # goes on from what an earlier run has read into there
python -m bench photo_reading --cache NEW --beside OLD   # and the texts gained and lost since another run
python -m bench photo_reading --turned 180      # of copies turned clockwise

A text is read where a run of words has its letters and digits and its box overlaps the label's. A row is kept
together where a line of the page holds an item and its price, of those read and labelled side by side on
photographs that have as many prices as items. Texts are counted by the height of their labels in the picture
as it is read.
"""

import json
import random
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

from bench.accuracy.trust import is_set_aside
from bench.arguments import argument_parser
from bench.data.photos import PHOTOS
from docmill.model.codec import page_content, page_of
from docmill.model.document import Box, Page, Place, letters_and_digits
from docmill.reading.files.options import ReadingOptions
from docmill.reading.images import image_file
from docmill.reading.ocr.page import recognise_page
from docmill.reading.ocr.rapid import rapid_engine
from docmill.reading.ocr.text_lines import turn_picture

HEIGHTS_PX = (12, 20)
SEED = 6
SIDE_BY_SIDE = 1.2
"""Label heights between the middles of an item and its price; a tilted row falls by so much."""


class PhotoText(NamedTuple):
    """A labelled text. place: where it was read, if it was. box: in fractions of the page as displayed."""

    field: str
    text: str
    box: Box
    height_px: float
    place: Place | None


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--sample", type=int, help="read only so many, chosen by a fixed seed")
    parser.add_argument("--cache", type=Path, help="where readings are kept")
    parser.add_argument("--beside", type=Path, help="the cache of another run")
    parser.add_argument("--turned", type=int, choices=(90, 180, 270), default=0, help="degrees clockwise")
    arguments = parser.parse_args()
    labels = photo_labels()
    names = sorted(labels)
    if arguments.sample:
        names = sorted(random.Random(SEED).sample(names, arguments.sample))
    with tempfile.TemporaryDirectory() as scratch:
        cache: Path = arguments.cache or Path(scratch)
        cache.mkdir(exist_ok=True)
        kept = {name: read(name, cache, arguments.turned) for name in names}
    texts = {name: list(locate_texts(labels[name], item)) for name, item in kept.items()}
    show_facts(list(kept.values()))
    show_texts([text for found in texts.values() for text in found])
    show_rows(kept, texts)
    if arguments.beside:
        show_changes(labels, texts, arguments.beside)


def photo_labels() -> dict[str, Mapping[str, Any]]:
    """Load the labels of the photographs that are not set aside, by file name."""
    rows = map(json.loads, (PHOTOS / "labels.jsonl").read_text(encoding="utf-8").splitlines())
    return {row["file"]: row["values"] for row in rows if not is_set_aside(row["file"])}


def read(name: str, cache: Path, turn: int = 0) -> dict[str, Any]:
    """Return the photograph's page as it is read, its size in pixels and the seconds of CPU it took."""
    path = cache / (f"{name}.{turn}.json" if turn else f"{name}.json")
    if not path.exists():
        options = ReadingOptions()
        fit = (options.max_dimension_px, options.max_dimension_px)
        engine = rapid_engine()
        started = time.process_time()
        picture = image_file.load(PHOTOS / "img" / name, 1, fit, options)
        picture = picture._replace(pixels=turn_picture(picture.pixels, turn))
        reading = recognise_page(engine, picture, options)
        seconds = time.process_time() - started
        found = {
            "name": name,
            "page": page_content(reading.page),
            "preprocessed": reading.preprocessed is not None,
            "turned": turn,
            "longest_px": max(picture.pixels.shape[:2]),
            "seconds": seconds,
        }
        path.write_text(json.dumps(found))
    return json.loads(path.read_text())


def locate_texts(labels: Mapping[str, Any], kept: Mapping[str, Any]) -> Iterator[PhotoText]:
    """Yield every label with where it was read."""
    page = page_of(kept["page"])
    with Image.open(PHOTOS / "img" / kept["name"]) as image:
        wide, high = image.size
    scale = kept["longest_px"] / max(wide, high)
    for field, items in labels.items():
        for item in items:
            if not letters_and_digits(item["text"]):
                continue
            x, y = item["box"][::2], item["box"][1::2]
            stored = Box(min(x) / wide, min(y) / high, max(x) / wide, max(y) / high)
            box = turn_box(stored, (kept["turned"] + page.rotation) % 360)
            height_px = min(max(x) - min(x), max(y) - min(y)) * scale
            places = [place for place in page.find(item["text"]) if overlap(place.box, box)]
            yield PhotoText(field, item["text"], box, height_px, places[0] if places else None)


def turn_box(box: Box, degrees: int) -> Box:
    """Return the box after its page was turned clockwise by a multiple of 90 degrees."""
    for _ in range(degrees // 90):
        box = Box(1 - box.y1, box.x0, 1 - box.y0, box.x1)
    return box


def overlap(box: Box, other: Box) -> bool:
    """Return whether two boxes share a point."""
    return box.x0 < other.x1 and other.x0 < box.x1 and box.y0 < other.y1 and other.y0 < box.y1


def show_facts(kept: Sequence[Mapping[str, Any]]) -> None:
    pages = [page_of(item["page"]) for item in kept]
    seconds = [item["seconds"] for item in kept]
    quality = statistics.mean(page.quality for page in pages)
    print(
        f"{len(kept)} photographs: {statistics.mean(seconds):.2f} s of CPU each (median"
        f" {statistics.median(seconds):.2f}, largest {max(seconds):.1f}); turned"
        f" {sum(page.rotation != 0 for page in pages)}, read better preprocessed"
        f" {sum(item['preprocessed'] for item in kept)}, quality {quality:.3f}"
    )


def show_texts(texts: Sequence[PhotoText]) -> None:
    heights = [text.height_px for text in texts]
    print(f"median height of a label: {statistics.median(heights):.0f} px")
    groups = {"all": texts}
    low, high = HEIGHTS_PX
    groups[f"below {low} px"] = [text for text in texts if text.height_px < low]
    groups[f"{low} to {high} px"] = [text for text in texts if low <= text.height_px < high]
    groups[f"from {high} px"] = [text for text in texts if text.height_px >= high]
    for field in sorted({text.field for text in texts}):
        groups[field] = [text for text in texts if text.field == field]
    for name, group in groups.items():
        count = sum(text.place is not None for text in group)
        print(f"{name:16} {count:5} of {len(group):5} read  {count / max(1, len(group)):.3f}")


def show_rows(kept: Mapping[str, Mapping[str, Any]], texts: Mapping[str, Sequence[PhotoText]]) -> None:
    together, count = 0, 0
    for name, item in kept.items():
        items, prices = ([text for text in texts[name] if text.field == field] for field in ("item", "price"))
        if len(items) != len(prices):
            continue
        page = page_of(item["page"])
        for left, right in zip(items, prices, strict=True):
            fall = abs(left.box.y0 + left.box.y1 - right.box.y0 - right.box.y1) / 2
            is_row = fall < SIDE_BY_SIDE * (left.box.y1 - left.box.y0)
            if is_row and left.place is not None and right.place is not None:
                count += 1
                together += line_of(page, left.place) == line_of(page, right.place)
    print(f"rows kept together: {together} of {count}  {together / max(1, count):.3f}")


def line_of(page: Page, place: Place) -> int:
    return int(page.words.lines[place.start])


def show_changes(labels: Mapping[str, Any], texts: Mapping[str, Sequence[PhotoText]], folder: Path) -> None:
    """Print the texts gained and lost since another run, and on how many photographs."""
    gained = lost = better = worse = before_s = count = 0
    for name, now in texts.items():
        if not (folder / f"{name}.json").exists():
            continue
        kept = json.loads((folder / f"{name}.json").read_text())
        before = list(locate_texts(labels[name], kept))
        pairs = [(old.place is not None, new.place is not None) for old, new in zip(before, now, strict=True)]
        more, fewer = pairs.count((False, True)), pairs.count((True, False))
        gained, lost = gained + more, lost + fewer
        better, worse = better + (more > fewer), worse + (fewer > more)
        before_s, count = before_s + kept["seconds"], count + 1
    print(
        f"since {folder.name}: {gained} texts gained, {lost} lost; {better} of {count} photographs better,"
        f" {worse} worse; {before_s / max(1, count):.2f} s before"
    )


if __name__ == "__main__":
    main()
