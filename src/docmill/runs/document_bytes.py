"""The bytes of a document, in memory or as a file."""

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from docmill.errors import CorruptError, ServerError
from docmill.files import digest
from docmill.ports import Original


@dataclass(frozen=True, slots=True)
class DocumentBytes:
    """The bytes of a document under the name that a person knows: exactly one of content and path is given.

    path: a file on this machine, which nobody changes meanwhile.
    """

    name: str
    content: bytes | None = None
    path: Path | None = None

    def __post_init__(self) -> None:
        if (self.content is None) == (self.path is None):
            raise ValueError("DocumentBytes takes either content or path")

    def read(self) -> bytes:
        """The bytes. Raises CorruptError if the file is gone, ServerError if it cannot be read."""
        if self.content is not None:
            return self.content
        assert self.path is not None
        try:
            return self.path.read_bytes()
        except FileNotFoundError as error:
            raise CorruptError(f"{self.name!r} is gone") from error
        except OSError as error:
            raise ServerError(f"cannot read {self.name!r}: {error.strerror}") from error

    def compute_hash(self) -> str:
        """The SHA-256 of the bytes, in lower-case hexadecimal. Raises as `read`."""
        if self.content is not None:
            return sha256(self.content).hexdigest()
        assert self.path is not None
        try:
            return digest(self.path)
        except FileNotFoundError as error:
            raise CorruptError(f"{self.name!r} is gone") from error
        except OSError as error:
            raise ServerError(f"cannot read {self.name!r}: {error.strerror}") from error

    @contextmanager
    def as_file(self, content_hash: str = "") -> Generator[Original]:
        """The bytes as a local file, for programs and child processes that need one.

        content_hash: if it is known already. Raises as `read`, and ServerError if the disk takes no more.
        """
        content_hash = content_hash or self.compute_hash()
        if self.path is not None:
            yield Original(self.path, self.name, content_hash)
            return
        assert self.content is not None
        with tempfile.TemporaryDirectory(prefix="docmill-") as folder:
            path = Path(folder, "document")
            try:
                path.write_bytes(self.content)
            except OSError as error:
                raise ServerError(f"cannot write a temporary file: {error.strerror}") from error
            yield Original(path, self.name, content_hash)
