"""Fingerprint of everything that a result depends on besides the file."""

import asyncio
import hashlib
import json
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from docmill.files import digest
from docmill.schemas.registry import REGISTRY
from docmill.service.config.settings import Settings

Stamp = tuple[int, int, int]


class Fingerprint:
    """The present fingerprint of the pipeline; a trained model may be replaced while it works."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._files = sorted({*settings.own.models().values()})
        self._stamps: list[Stamp | None] = [stamp(path) for path in self._files]
        self._latest = pipeline_fingerprint(settings)

    async def now(self) -> str:
        """See `pipeline_fingerprint`."""
        return await asyncio.to_thread(self._look_up) if self._files else self._latest

    def _look_up(self) -> str:
        stamps = [stamp(path) for path in self._files]
        if stamps != self._stamps:
            self._latest, self._stamps = pipeline_fingerprint(self._settings), stamps
        return self._latest


def pipeline_fingerprint(settings: Settings) -> str:
    """Changes when the same file may give another result: docmill's version, its schemas, how it reads.

    Settings of speed, limits of time and places are no part of it.
    """
    limits = {"pages", "parts", "parts_in_all", "parts_depth", "unpacked_mb"}
    read_by: dict[str, Any] = {"ocr": True, "image": True, "reading": True, "limits": limits}
    if "documentai" in settings.ocr.engines:
        read_by["documentai"] = {"project", "location", "processor", "version"}
    if "vision" in settings.ocr.engines:
        read_by["llm"] = {"provider", "model", "base_url"}
    of_model = {"provider", "model", "base_url", "sees"}
    understood = settings.understanding
    if understood.small or understood.large:
        read_by["understanding"] = {"small": of_model, "large": of_model, "classify": True}
        read_by["llm"] = {"provider", "model", "base_url"}
    parts: dict[str, Any] = {
        "docmill": version("docmill"),
        "schemas": {name: [_described(schema.fields), schema.critical] for name, schema in REGISTRY.items()},
        "settings": settings.model_dump(mode="json", include=read_by),
    }
    if settings.schemas:
        learned = dict.fromkeys(models := settings.own.models(), "")
        for name, path in models.items():
            with suppress(OSError):  # reported where the model is used
                learned[name] = digest(path)
        parts["own"] = [settings.model_dump(mode="json", include={"schemas": True}), learned]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


@cache
def _described(fields: type[BaseModel]) -> dict[str, Any]:
    """The fields as a JSON schema, which is slow to make, and never another one for the same class."""
    return fields.model_json_schema()


def stamp(path: Path) -> Stamp | None:
    """Another one whenever the file was replaced or written; None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
