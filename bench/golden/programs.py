"""The documents through docmill's programs, as a user starts them: `docmill run`, and the vault by its API.

Durations, attempts and costs are left out of the records, since they differ from run to run; of the vault's
also what it counts and numbers itself, and tags: it prefers those in use, which depend on which documents
were ready when.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

from bench.golden.kinds import Kind
from bench.golden.records import Record

DOCMILL = Path(sys.executable).with_name("docmill")
CHANGING = ("timings_s", "attempts", "usage")
KEPT = (
    "content_hash",
    "media_type",
    "page_count",
    "document_type",
    "title",
    "summary",
    "document_date",
    "language",
    "state",
    "needs_human_review",
    "error",
    "data",
    "evidence",
    "verdict",
)
UNDER_WAY = ("processing", "stale")
SECOND_LOOK_S = 20
"""All second looks at one document together may take so long; what is not done by then is left."""
START_S, DOCUMENT_S = 120, 1800
Told = Callable[[int], None]


def run(files: Mapping[str, Path], kind: Kind, folder: Path, *, jobs: int, told: Told) -> list[Record]:
    """The records that `docmill run` writes of the files. folder: for copies of them."""
    _copied(files, folder / "documents")
    out = folder / "records.jsonl"
    options = ["--out", out, "--fresh", "--quiet", "--jobs", str(jobs), "--config", _no_settings(folder)]
    if kind.schema:
        options += ["--schema", kind.schema]
    if kind.labels:
        options += ["--labels", kind.labels]
    running = subprocess.Popen(
        [DOCMILL, "run", folder / "documents", *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=_environment(),
        cwd=folder,
    )
    try:
        while running.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                running.wait(5)
            told(out.read_bytes().count(b"\n") if out.exists() else 0)
    finally:
        running.terminate()
    if running.returncode not in (0, 1):  # 1: some failed, and their records say why
        raise SystemExit(f"docmill run ended with {running.returncode}")
    records: list[Record] = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    _tell_hurried(records)
    return [{name: item for name, item in record.items() if name not in CHANGING} for record in records]


def _tell_hurried(records: Sequence[Record]) -> None:
    """Name those that may differ at another time: a busy machine may have cut their second look off."""
    for record in records:
        if record["timings_s"].get("extract", 0) >= SECOND_LOOK_S:
            print(f"  its second look may have been cut off: {record['source']}", file=sys.stderr, flush=True)


def vault(files: Mapping[str, Path], folder: Path, *, told: Told) -> list[Record]:
    """The answers of a new vault in `folder` about the files and the documents in them."""
    records: dict[str, Record] = {}
    with _vault(folder) as api:
        ids = {source: _uploaded(api, path) for source, path in files.items()}
        for count, (source, found) in enumerate(ids.items(), 1):
            if isinstance(found, str):
                records |= _documents(api, source, found)
            else:
                records[source] = {"source": source, "error": found}
            told(count)
    return list(records.values())


@contextmanager
def _vault(folder: Path) -> Generator[httpx.Client]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    options = ["--data-dir", folder / "vault", "--port", str(port), "--config", _no_settings(folder)]
    running = subprocess.Popen(
        [DOCMILL, "up", *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=_environment(),
        cwd=folder,
    )
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as api:
            _until_ready(api, running)
            yield api
    finally:
        running.send_signal(signal.SIGTERM)
        running.wait()


def _until_ready(api: httpx.Client, running: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end and running.poll() is None:
        with suppress(httpx.TransportError):
            if api.get("/readyz").is_success:
                return
        time.sleep(0.2)
    raise SystemExit("the vault did not start")


def _uploaded(api: httpx.Client, path: Path) -> str | dict[str, str]:
    """The document's id, or why the file was refused."""
    with path.open("rb") as file:
        answer = api.post("/api/v1/documents", files={"file": (path.name, file)}).json()
    found = answer["results"][0]
    return found["document_id"] or found["error"]


def _documents(api: httpx.Client, source: str, document_id: str) -> dict[str, Record]:
    """The document and all it holds."""
    found = _processed(api, document_id)
    address = f"/api/v1/documents/{document_id}"
    pages = api.get(f"{address}/pages")
    ingestion = api.get(f"{address}/ingestions").json()["ingestions"][0]
    parts: list[dict[str, Any]] = found["parts"]
    record: Record = {
        "source": source,
        **{name: found[name] for name in KEPT},
        "reason": ingestion["extraction_reason"],
        "pages": pages.json()["pages"] if pages.is_success else [],
        "parts": [{name: item for name, item in part.items() if name != "document_id"} for part in parts],
    }
    records = {source: record}
    for part in parts:
        if part["document_id"]:
            inner = _documents(api, f"{source}/{part['name']}", part["document_id"])
            records |= inner
    return records


def _processed(api: httpx.Client, document_id: str) -> dict[str, Any]:
    """The document, once it and its parts are processed."""
    end = time.monotonic() + DOCUMENT_S
    while time.monotonic() < end:
        found = api.get(f"/api/v1/documents/{document_id}").raise_for_status().json()
        if not any(item["state"] in UNDER_WAY for item in (found, *found["parts"])):
            return found
        time.sleep(0.5)
    raise SystemExit(f"the vault did not process {document_id}")


def _copied(files: Mapping[str, Path], folder: Path) -> None:
    """Below one folder, under their names in the record: links out of a folder are not followed."""
    for source, path in files.items():
        to = folder / source
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, to)


def _no_settings(folder: Path) -> Path:
    """An empty settings file: what this machine is set to does not count."""
    path = folder / "empty.toml"
    path.touch()
    return path


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("DOCMILL_")}
