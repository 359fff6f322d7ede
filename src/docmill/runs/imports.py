"""What configurations name by `package.module:Name`."""

from importlib import import_module

from docmill.errors import MisconfiguredError


def imported(target: str) -> object:
    """What `package.module:Name` names. Raises MisconfiguredError."""
    module, _, name = target.partition(":")
    try:
        value: object = import_module(module)
    except Exception as error:  # a module of another package may raise anything
        raise MisconfiguredError(f"cannot import {target!r}: {error}") from error
    for part in name.split("."):
        value = getattr(value, part, None)
        if value is None:
            raise MisconfiguredError(f"{module!r} has no {name!r}")
    return value
