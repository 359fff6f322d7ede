"""Settings of the keys without which the secrets in the database are worth nothing."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, SecretStr, model_validator

from docmill.errors import MisconfiguredError
from docmill.service.config.section import Section

_SHORTEST = 32

Key = Annotated[SecretStr, Field(min_length=_SHORTEST)]


class Secrets(Section):
    """The key that secrets in the database need. key_file: the file that has it, in place of `key`.

    previous_keys: of before; what needed them still works.
    """

    key: Key | None = None
    key_file: Path | None = None
    previous_keys: tuple[Key, ...] = ()

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.key is not None and self.key_file is not None:
            raise ValueError("give key or key_file, not both")
        if self.previous_keys and self.key is None and self.key_file is None:
            raise ValueError("previous_keys need a key that follows them")
        return self

    def keys(self) -> tuple[bytes, ...]:
        """The key and those of before; nothing if there is none. Raises MisconfiguredError."""
        if self.key_file is None:
            current = self.key.get_secret_value().encode() if self.key else None
        else:
            current = _read(self.key_file)
        previous = tuple(key.get_secret_value().encode() for key in self.previous_keys)
        return () if current is None else (current, *previous)


def _read(path: Path) -> bytes:
    try:
        key = path.read_bytes().strip()
    except OSError as error:
        raise MisconfiguredError(
            f"secrets.key_file {str(path)!r} cannot be read: {error.strerror}"
        ) from error
    if len(key) < _SHORTEST:
        raise MisconfiguredError(
            f"the key in secrets.key_file {str(path)!r} is shorter than {_SHORTEST} characters; make one with"
            " `openssl rand -hex 32`"
        )
    return key
