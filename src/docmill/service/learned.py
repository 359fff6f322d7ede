"""What was learned of the user's own schemas, as the files of the settings have it by now."""

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path

from docmill.errors import MisconfiguredError
from docmill.service.config.fingerprint import stamp
from docmill.understanding.user_schemas.learned import model_in

log = logging.getLogger(__name__)


class LearnedModels(Mapping[str, str]):
    """The models by the names of schemas. A file that changed is read again when its model is asked for next.

    It looks at the disk. Raises MisconfiguredError when made if a file holds no model; of one that holds none
    later, the last model stays in use.
    """

    def __init__(self, places: Mapping[str, Path]) -> None:
        files = {path: _File(path) for path in {*places.values()}}
        self._files = {name: files[path] for name, path in places.items()}

    def __getitem__(self, name: str) -> str:
        return self._files[name].text()

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


class _File:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp = stamp(path)
        self._text = model_in(path)

    def text(self) -> str:
        found = stamp(self._path)
        if found != self._stamp:
            self._stamp = found
            try:
                self._text = model_in(self._path)
            except MisconfiguredError as error:
                log.warning("a new model cannot be read; the last stays", extra={"code": error.code})
            else:
                log.info("a new model is in use")
        return self._text
