"""What a result depends on besides the file."""

import hashlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

from docmill.schemas.registry import REGISTRY
from docmill.service.settings import Settings


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
        "schemas": {
            name: [schema.fields.model_json_schema(), schema.critical] for name, schema in REGISTRY.items()
        },
        "settings": settings.model_dump(mode="json", include=read_by),
    }
    if settings.schemas:
        learned = {name: _digest(path) for name, path in settings.own.models().items()}
        parts["own"] = [settings.model_dump(mode="json", include={"schemas": True}), learned]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _digest(path: Path) -> str:
    """Of what was learned; empty if it cannot be read, which its reader will say."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
