"""Files on this machine whose paths fit a pattern."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docmill.errors import MisconfiguredError
from docmill.files import is_junk
from docmill.ports import Ref
from docmill.runs.components.config import ComponentConfig
from docmill.runs.context import Context
from docmill.runs.inputs import key_of, version_of


class GlobListerConfig(ComponentConfig):
    """pattern: such as `invoices/**/*.pdf`, as `pathlib` has it. folder: from which a relative one counts."""

    pattern: str
    folder: Path = Path()


class GlobLister:
    """`Lister` of the files whose paths fit a pattern.

    Hidden files, and what programs leave behind, are left out, unless the pattern itself names a hidden
    folder or file.
    """

    def __init__(self, config: GlobListerConfig | str) -> None:
        self.config = config if isinstance(config, GlobListerConfig) else GlobListerConfig(pattern=config)

    def list(self, context: Context[Any]) -> Iterator[Ref]:
        """See `Lister.list`. The keys of the references are the paths of the files."""
        del context
        pattern = Path(self.config.pattern)
        root = self.config.folder
        if pattern.is_absolute():
            root, pattern = Path(pattern.anchor), pattern.relative_to(pattern.anchor)
        if not root.is_dir():
            raise MisconfiguredError(f"there is no folder {str(root)!r}")
        if not pattern.parts:
            raise MisconfiguredError("the pattern of paths is empty")
        named_hidden = {step for step in pattern.parts if step.startswith(".")}
        for path in _matching(root, str(pattern)):
            steps = path.relative_to(root).parts
            is_hidden = any(step.startswith(".") and step not in named_hidden for step in steps)
            if is_hidden or is_junk(path.name) or not path.is_file():
                continue
            yield Ref(key_of(path), key_of(Path(path.name)), version=version_of(path))


def _matching(root: Path, pattern: str) -> Iterator[Path]:
    try:
        yield from root.glob(pattern)
    except (ValueError, NotImplementedError) as error:
        raise MisconfiguredError(f"{pattern!r} is no pattern of paths: {error}") from error
