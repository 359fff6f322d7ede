"""What the chosen engines need, as far as it can be seen without a network."""

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from docmill.cli.findings import Finding
from docmill.errors import DocmillError

if TYPE_CHECKING:
    from docmill.service.config.settings import Settings


def engine_findings(settings: "Settings") -> Iterator[Finding]:
    """What each of `ocr.engines` has and lacks. Settings that contradict themselves were refused before."""
    for name in settings.ocr.engines:
        match name:
            case "tesseract":
                yield _tesseract(settings.ocr.languages)
            case "documentai":
                yield _documentai(settings)
            case "vision":
                yield _vision(settings)
            case "rapidocr":
                yield Finding("engine rapidocr", "needs nothing more")


def _tesseract(languages: tuple[str, ...]) -> Finding:
    from docmill.reading.ocr.tesseract import TesseractEngine  # noqa: PLC0415 - only where it is chosen

    try:
        TesseractEngine(languages)
    except DocmillError as error:
        return Finding("engine tesseract", "cannot read", error.message)
    return Finding("engine tesseract", f"runs, with {', '.join(languages) or 'the usual languages'}")


def _documentai(settings: "Settings") -> Finding:
    what, chosen = "engine documentai", settings.documentai
    if not is_installed("google.cloud.documentai"):
        return Finding(what, "its library is missing", "run: pip install 'docmill[documentai]'")
    if chosen.credentials_file is not None and not _is_key(chosen.credentials_file):
        return Finding(
            what,
            f"{chosen.credentials_file} is no service account's key",
            "set documentai.credentials_file to the JSON file that Google Cloud gives for a service account",
        )
    if chosen.credentials_file is None and not chosen.adc and not (chosen.endpoint or "").startswith("http:"):
        return Finding(what, "no credentials", "set documentai.credentials_file, or documentai.adc = true")
    return Finding(what, f"processor {chosen.processor} in {chosen.location}; not asked")


def _is_key(file: Path) -> bool:
    try:
        key = json.loads(file.expanduser().read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(key, dict) and {"client_email", "private_key"} <= key.keys()


def _vision(settings: "Settings") -> Finding:
    if not is_installed("pydantic_ai"):
        return Finding("engine vision", "its library is missing", "run: pip install 'docmill[llm]'")
    whose = "a key" if settings.llm.api_key else f"no key, at {settings.llm.base_url}"
    return Finding(
        "engine vision", f"{settings.llm.model} of {settings.llm.provider}, with {whose}; not asked"
    )


def model_findings(settings: "Settings") -> Iterator[Finding]:
    """The models that read fields, if there are any."""
    for name, chosen in (("small", settings.understanding.small), ("large", settings.understanding.large)):
        if chosen is None:
            continue
        if not is_installed("pydantic_ai"):
            yield Finding(f"{name} model", "its library is missing", "run: pip install 'docmill[llm]'")
            continue
        whole = chosen.within(settings.llm)
        whose = "a key" if whole.api_key else f"no key, at {whole.base_url}"
        yield Finding(f"{name} model", f"{whole.model} of {whole.provider}, with {whose}; not asked")


def is_installed(module: str) -> bool:
    """Whether a module can be loaded."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package around it
        return False
