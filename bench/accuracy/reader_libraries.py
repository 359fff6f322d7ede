"""Our readers of Word, RTF and Outlook files beside the libraries that could stand in their place.

For each file the words that both read, only ours and only the library; with --words they are printed. Then
the seconds for all files, and what becomes of damaged copies (made by seed) and of files that unpack to much.
The libraries are not dependencies of docmill and nothing else needs them. They are installed by hand:
pip install --target FOLDER --no-deps docx2python paragraphs striprtf python-oxmsg, and PYTHONPATH=FOLDER.
What is missing is named and left out.
"""

import importlib
import io
import multiprocessing
import random
import resource
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from bench.arguments import argument_parser
from bench.data.shared import DATA
from docmill.errors import DocmillError
from docmill.reading.files.options import ReadingOptions
from docmill.reading.formats import docx, rtf
from docmill.reading.layout.typeset import HeadingBlock, Paragraph, TableBlock
from docmill.reading.mail import outlook_msg

COPIES = 40
"""Damaged copies of each file."""
LIMIT_S, LIMIT_BYTES = 20, 1_500_000_000
BOMB_BYTES = 400_000_000
OPTIONS = ReadingOptions()


def shown(blocks: list[Any]) -> str:
    """All that blocks say, cell by cell."""
    lines: list[str] = []
    for block in blocks:
        if isinstance(block, HeadingBlock | Paragraph):
            lines.append(block.text)
        elif isinstance(block, TableBlock):
            lines += ["  ".join(row) for row in block.rows]
    return "\n".join(lines)


def by_docx2python(path: Path) -> str:
    library: Any = importlib.import_module("docx2python")
    with library.docx2python(path, duplicate_merged_cells=False) as found:
        return found.text


def by_striprtf(path: Path) -> str:
    library: Any = importlib.import_module("striprtf.striprtf")
    return library.rtf_to_text(path.read_bytes().decode("latin-1"), errors="replace")


def by_oxmsg(path: Path) -> str:
    library: Any = importlib.import_module("oxmsg")
    message = library.Message.load(str(path))
    recipients = [f"{to.name} {to.email_address}" for to in message.recipients]
    names = [str(attachment.file_name) for attachment in message.attachments]
    body = message.body or message.html_body or ""
    return "\n".join([message.subject, str(message.sender), *recipients, *names, body])


def our_docx(path: Path) -> str:
    return shown(docx.read(path))


def our_rtf(path: Path) -> str:
    return shown(rtf.read(path))


def our_msg(path: Path) -> str:
    with outlook_msg.open_attachments(path, OPTIONS) as held:
        return "\n".join([shown(outlook_msg.read(path)), *(item.name for item in held)])


class Pair(NamedTuple):
    """A library, and what of ours it could replace."""

    package: str
    module: str
    suffix: str
    ours: Callable[[Path], str]
    theirs: Callable[[Path], str]


PAIRS = (
    Pair("docx2python", "docx2python", ".docx", our_docx, by_docx2python),
    Pair("striprtf", "striprtf", ".rtf", our_rtf, by_striprtf),
    Pair("python-oxmsg", "oxmsg", ".msg", our_msg, by_oxmsg),
)


def words(text: str) -> Counter[str]:
    return Counter(text.replace("|", " ").split())


def outcome(read: Callable[[Path], str], path: Path) -> str:
    """The outcome of reading the file: "text", a refusal in words, or the exception that came out."""
    try:
        read(path)
    except DocmillError:
        return "refused"
    except Exception as error:  # noqa: BLE001 - whatever a library raises is counted
        return type(error).__name__
    return "text"


def compare_words(pair: Pair, paths: list[Path], *, tell: bool) -> None:
    both = ours_only = theirs_only = 0
    for path in paths:
        failed = [outcome(read, path) for read in (pair.ours, pair.theirs)]
        if failed != ["text", "text"]:
            print(f"  {path.name}: docmill {failed[0]}, {pair.package} {failed[1]}")
            continue
        ours, theirs = words(pair.ours(path)), words(pair.theirs(path))
        both += (ours & theirs).total()
        ours_only += (ours - theirs).total()
        theirs_only += (theirs - ours).total()
        if tell:
            print(f"  {path.name}\n    only ours {dict(ours - theirs)}")
            print(f"    only {pair.package} {dict(theirs - ours)}")
    print(f"  {len(paths)} files; words of both {both}, of ours {ours_only}, of {pair.package} {theirs_only}")


def compare_speed(pair: Pair, paths: list[Path]) -> None:
    for name, read in (("docmill", pair.ours), (pair.package, pair.theirs)):
        start = time.process_time()
        for _ in range(5):
            for path in paths:
                outcome(read, path)
        print(f"  {name}: {(time.process_time() - start) / 5 / len(paths) * 1000:.1f} ms a file")


def damaged(paths: list[Path], folder: Path) -> list[Path]:
    """Copies with bytes changed, taken out, or the end cut off; within the members of a ZIP, too."""
    found: list[Path] = []
    for number, path in enumerate(path for path in paths for _ in range(COPIES)):
        drawn = random.Random(number)
        data = path.read_bytes()
        if path.suffix == ".docx" and number % 2:
            data = with_damaged_member(data, drawn)
        else:
            data = damage(data, drawn)
        found.append(folder / f"{number}{path.suffix}")
        found[-1].write_bytes(data)
    return found


def damage(data: bytes, drawn: random.Random) -> bytes:
    at = drawn.randrange(len(data) or 1)
    match drawn.randrange(3):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + data[at + drawn.randrange(1, 200) :]
        case _:
            changed = bytearray(data)
            for _ in range(drawn.randrange(1, 20)):
                changed[drawn.randrange(len(changed))] = drawn.randrange(256)
            return bytes(changed)


def with_damaged_member(data: bytes, drawn: random.Random) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(file, "w") as target:
        names = [name for name in source.namelist() if name.endswith((".xml", ".rels"))]
        chosen = drawn.choice(names)
        for name in source.namelist():
            content = source.read(name)
            target.writestr(name, damage(content, drawn) if name == chosen else content)
    return file.getvalue()


def bomb(suffix: str, good: Path) -> bytes:
    """A small DOCX of many empty paragraphs, or an RTF of many groups inside each other."""
    if suffix == ".rtf":
        return b"{\\rtf1\\ansi" + b"{\\b " * 2_000_000 + b"x"
    file = io.BytesIO()
    with zipfile.ZipFile(good) as source, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            content = source.read(name)
            if name == "word/document.xml":
                content = content.replace(b"<w:body>", b"<w:body>" + b"<w:p/>" * (BOMB_BYTES // 6))
            target.writestr(name, content)
    return file.getvalue()


def limited(read: Callable[[Path], str], path: Path, answer: Connection) -> None:
    """In a process of its own: the outcome, the seconds, the megabytes."""
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT_BYTES * 2, LIMIT_BYTES * 2))
    start = time.monotonic()
    found = outcome(read, path)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    answer.send(f"{found} after {time.monotonic() - start:.1f} s, {peak} MB")


def compare_hostile(pair: Pair, paths: list[Path]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        copies = damaged(paths, Path(folder))
        for name, read in (("docmill", pair.ours), (pair.package, pair.theirs)):
            print(f"  damaged, {name}: {dict(Counter(outcome(read, path) for path in copies))}")
        if pair.suffix == ".msg":
            return  # nothing is packed in it
        large = Path(folder, f"large{pair.suffix}")
        large.write_bytes(bomb(pair.suffix, paths[0]))
        for name, read in (("docmill", pair.ours), (pair.package, pair.theirs)):
            receiver, sender = multiprocessing.Pipe(duplex=False)
            child = multiprocessing.Process(target=limited, args=(read, large, sender))
            child.start()
            said = receiver.recv() if receiver.poll(LIMIT_S) else f"nothing after {LIMIT_S} s"
            child.kill()
            child.join()
            print(f"  {large.stat().st_size / 1e6:.1f} MB that unpack to much, {name}: {said}")


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--words", action="store_true", help="print the words that only one reads")
    parser.add_argument("--only", choices=[pair.package for pair in PAIRS])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for pair in PAIRS:
        if arguments.only not in (None, pair.package):
            continue
        paths = sorted(DATA.glob(f"**/*{pair.suffix}"))
        print(f"\n{pair.package}, {pair.suffix}")
        try:
            importlib.import_module(pair.module)
        except ImportError as error:
            print(f"  left out: {error}; see --help")
            continue
        compare_words(pair, paths, tell=arguments.words)
        compare_speed(pair, paths)
        compare_hostile(pair, paths)


if __name__ == "__main__":
    main()
