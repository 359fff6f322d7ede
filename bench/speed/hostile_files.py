"""Read malformed, malicious and odd files: each must end in a result or a refusal, in time and in memory.

Forbidden: an unhandled exception, more than 30 s in all attempts, more than 1.5 GB of parent and children, a
queue that is stuck afterwards, a file opened for writing outside the work folder, a try at the network. The
last two are seen by strace, where it is installed. There are as many processes as `docmill run` starts.
Results are kept as they come: who is stopped goes on from there.
"""

import asyncio
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from bench.arguments import argument_parser
from bench.data.shared import DATA
from docmill.errors import DocmillError, TransientError
from docmill.ports import Original
from docmill.reading.child.render import LocalRenderer
from docmill.reading.convert import LocalConverter, PooledUnpacker
from docmill.workers import child
from docmill.workers.pool import Pool
from docmill.workers.scratch import PREFIX as SCRATCH_PREFIX

FOLDERS = ("hostile", "formats", "mail", "office", "scans")
ATTEMPTS = 3
MAX_S = 30.0
MAX_BYTES = 1_500_000_000
SAMPLE_S = 0.03
FILES_PER_POOL = 10
FORBIDDEN = "FORBIDDEN"
MARK = "/docmill-reads/"
_CHANGING = (
    "open",
    "openat",
    "creat",
    "mkdir",
    "mkdirat",
    "rename",
    "renameat2",
    "link",
    "linkat",
    "symlinkat",
    "unlinkat",
)
CALLS = ",".join(("network", "execve", "clone", "clone3", "fork", "vfork", *_CHANGING))

_STARTS = re.compile(r"\b(?:clone3?|v?fork)\b.* = (\d+)$")
_WRITES = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC")
_PATH = re.compile(r'"((?:[^"\\]|\\.)*)"')
_HARMLESS = ("/dev/", SCRATCH_PREFIX)


@dataclass(slots=True)
class Outcome:
    path: str
    kind: str
    seconds: float
    peak_bytes: int

    def __str__(self) -> str:
        return f"{self.kind:24} {self.seconds:6.2f} s {self.peak_bytes / 1e6:6.0f} MB  {self.path}"


async def attempt(pool: Pool, original: Original, folder: Path) -> str:
    """Return the outcome of the file: `result`, `partial`, or the code of a refusal."""
    for number in range(1, ATTEMPTS + 1):
        try:
            document = await LocalConverter(pool).convert(original)
            taken = await PooledUnpacker(pool).unpack(original, document, folder) if document.parts else []
            if document.pages:
                await LocalRenderer(pool).render(original.path, page_number=1, width_px=200)
        except TransientError as error:
            if number == ATTEMPTS or error.code == "internal":
                return f"{FORBIDDEN} {error}" if error.code == "internal" else error.code
        except DocmillError as error:
            return error.code
        except Exception as error:  # noqa: BLE001 - an unhandled exception is a finding
            return f"{FORBIDDEN} {error!r}"
        else:
            troubles = [page.problem for page in document.pages] + [file.part.problem for file in taken]
            return "partial" if any(troubles) else "result"
    raise AssertionError


async def measure(pool: Pool, path: Path) -> Outcome:
    peak = 0
    done = asyncio.Event()

    async def watch() -> None:
        nonlocal peak
        while not done.is_set():
            peak = max(peak, resident_bytes())
            await asyncio.sleep(SAMPLE_S)

    watching = asyncio.create_task(watch())
    with tempfile.TemporaryDirectory(prefix=f"{SCRATCH_PREFIX}of-bench-") as folder:
        started = time.perf_counter()
        kind = await attempt(pool, Original(path, path.name, "0" * 64), Path(folder))
        seconds = time.perf_counter() - started
    if await pool.run(len, "four", limit_s=MAX_S) != 4 or pool.busy or pool.waiting:
        kind = f"{FORBIDDEN} stuck, after {kind}"
    done.set()
    await watching
    if seconds > MAX_S:
        kind = f"{FORBIDDEN} too slow, then {kind}"
    if peak > MAX_BYTES:
        kind = f"{FORBIDDEN} too much memory, then {kind}"
    return Outcome(str(path), kind, seconds, peak)


def resident_bytes() -> int:
    """Return the memory of this process and its children."""
    children = list[str]()
    for task in Path("/proc/self/task").iterdir():
        children += (task / "children").read_text().split()
    return sum(_resident(pid) for pid in {"self", *children})


def _resident(pid: str) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (FileNotFoundError, ProcessLookupError):
        return 0


def forbidden_calls(log: Path) -> Iterator[tuple[str, str]]:
    """Yield file and call of every forbidden system call of the children, from the log of strace."""
    path = ""
    children: set[str] = set()
    for line in log.read_text(errors="replace").splitlines():
        process, _, call = line.partition(" ")
        if MARK in line:
            path = line.partition(MARK)[2].partition('"')[0]
        elif child.__name__ in call and "execve(" in call:
            children.add(process)
        elif process in children:
            if started := _STARTS.search(call):
                children.add(started[1])
            elif is_forbidden(call.strip()):
                yield path, call.strip()


def is_forbidden(call: str) -> bool:
    name, _, arguments = call.partition("(")
    if name in ("socket", "connect", "bind", "sendmsg", "sendto"):
        return "NULL, 0" not in arguments
    if name not in _CHANGING or (name.startswith("open") and not _WRITES.search(arguments)):
        return False
    paths = _PATH.findall(arguments)
    return any(path.startswith("/") and not any(part in path for part in _HARMLESS) for path in paths)


def mark(path: Path) -> None:
    """Make a system call that names the file in the log of strace."""
    with contextlib.suppress(OSError):
        Path(f"{MARK}{path}").touch()


async def read(files: list[Path], results: Path) -> None:
    for first in range(0, len(files), FILES_PER_POOL):
        async with Pool(os.cpu_count() or 1) as pool:
            await pool.run(len, "four", limit_s=MAX_S)
            for path in files[first : first + FILES_PER_POOL]:
                mark(path)
                outcome = await measure(pool, path)
                keep(outcome, results)


def keep(outcome: Outcome, results: Path) -> None:
    with results.open("a") as lines:
        lines.write(json.dumps(asdict(outcome)) + "\n")
    if outcome.kind.startswith(FORBIDDEN) or outcome.seconds > MAX_S / 3:
        print(outcome, flush=True)


def run(files: list[Path], results: Path) -> None:
    """Read the files in a process under strace."""
    if not files:
        return
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "calls"
        command = [
            sys.executable,
            "-m",
            "bench.speed.hostile_files",
            "--inside",
            "--results",
            str(results),
            *map(str, files),
        ]
        if shutil.which("strace"):
            command = [
                "strace",
                "-f",
                "--seccomp-bpf",
                "-qq",
                "-s",
                "4096",  # or it cuts off the paths by which a file is known
                "-o",
                str(log),
                "-e",
                f"trace={CALLS}",
                *command,
            ]
        subprocess.run(command, check=True)
        for path, trespass in forbidden_calls(log) if log.exists() else ():
            outcome = kept_outcomes(results).get(path) or Outcome("a process that starts", "", 0, 0)
            keep(replace(outcome, kind=f"{FORBIDDEN} {trespass}"), results)


def kept_outcomes(results: Path) -> dict[str, Outcome]:
    if not results.exists():
        return {}
    outcomes = [Outcome(**json.loads(line)) for line in results.read_text().splitlines()]
    return {outcome.path: outcome for outcome in outcomes}


def report(outcomes: list[Outcome]) -> None:
    kinds = [outcome.kind.split(" ")[0] for outcome in outcomes]
    folders = [next((name for name in FOLDERS if f"/{name}/" in outcome.path), "-") for outcome in outcomes]
    names = sorted(set(folders))
    print(f"\n{'outcome':24}" + "".join(f"{name:>9}" for name in names) + f"{'all':>9}")
    for kind, count in Counter(kinds).most_common():
        counts = Counter(folder for folder, found in zip(folders, kinds, strict=True) if found == kind)
        print(f"{kind:24}" + "".join(f"{counts[name]:9}" for name in names) + f"{count:9}")
    slowest = max(outcome.seconds for outcome in outcomes)
    largest = max(outcome.peak_bytes for outcome in outcomes)
    print(f"{len(outcomes)} files, slowest {slowest:.1f} s, most memory {largest / 1e6:.0f} MB")


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("paths", nargs="*", type=Path, default=[DATA / name for name in FOLDERS])
    parser.add_argument("--inside", action="store_true", help="read the files in this process")
    parser.add_argument("--list", action="store_true", help="print every file")
    parser.add_argument("--part", default="1/1", help="K/N: only every N-th file, starting with the K-th")
    parser.add_argument("--results", type=Path, default=Path(tempfile.gettempdir()) / "docmill-hostile.jsonl")
    arguments = parser.parse_args()
    if arguments.inside:
        asyncio.run(read(arguments.paths, arguments.results))
        return
    if not DATA.exists():
        sys.exit(f"{DATA} is absent: nothing to measure")
    part, parts = map(int, arguments.part.split("/"))
    found = {
        path for folder in arguments.paths for path in ([folder] if folder.is_file() else folder.rglob("*"))
    }
    files = sorted((path for path in found if path.is_file()), key=lambda path: path.stat().st_size)
    done = kept_outcomes(arguments.results)
    run([path for path in files[part - 1 :: parts] if str(path) not in done], arguments.results)
    done = kept_outcomes(arguments.results)
    outcomes = [done[str(path)] for path in files if str(path) in done]
    if arguments.list:
        print(*outcomes, sep="\n")
    report(outcomes)


if __name__ == "__main__":
    main()
