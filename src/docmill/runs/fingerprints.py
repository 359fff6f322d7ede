"""Fingerprints: whether results of earlier components, settings and schemas still hold."""

import json
from dataclasses import asdict, is_dataclass
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from pydantic import BaseModel

_LENGTH = 16
_PLAIN: frozenset[type] = frozenset({str, int, float, bool, type(None), dict, list, tuple})


def schema_fingerprint(schema: type[BaseModel]) -> str:
    """Changes with the fields of a schema, their types and their descriptions."""
    return fingerprint_of(schema.model_json_schema())


def component_fingerprint(component: object) -> str:
    """Changes with a component's class, its configuration and the release of its package.

    The configuration is what its attribute `config` says, or a dataclass's own fields. A component may say
    what it depends on by an attribute `fingerprint` instead, a model's version for example.
    """
    kind = type(component)
    said = getattr(component, "fingerprint", None)
    return fingerprint_of(
        {
            "class": f"{kind.__module__}:{kind.__qualname__}",
            "release": _release_of(kind),
            "settings": said if isinstance(said, str) else _settings_of(component),
        }
    )


def fingerprint_of(value: object) -> str:
    """A short hash of anything that JSON can say."""
    text = json.dumps(value, sort_keys=True, default=str)
    return sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:_LENGTH]


def _settings_of(component: object) -> Any:  # noqa: ANN401  any JSON
    config = getattr(component, "config", None)
    if isinstance(config, BaseModel):
        return config.model_dump(mode="json")
    if is_dataclass(config) and not isinstance(config, type):
        return asdict(config)
    if is_dataclass(component) and not isinstance(component, type):
        return [[name, value] for name, value in sorted(vars(component).items()) if type(value) in _PLAIN]
    return None


def _release_of(kind: type) -> str:
    try:
        return version(kind.__module__.partition(".")[0])
    except PackageNotFoundError:
        return ""
