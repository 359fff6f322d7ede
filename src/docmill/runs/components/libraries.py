"""Libraries that extras install, loaded only where they are used."""

from importlib import import_module
from typing import Any

from docmill.errors import MisconfiguredError


def required(module: str, extra: str) -> Any:  # noqa: ANN401  the module, whose types are known to its users
    """A module of a library that an extra installs. Raises MisconfiguredError if it is missing."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        name = module.partition(".")[0]
        raise MisconfiguredError(f"this needs {name}; run: pip install 'docmill[{extra}]'") from error
