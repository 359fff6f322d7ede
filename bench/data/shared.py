"""The paths of the repository and of the shared data beside it, and the shared data's own scorer."""

import importlib.util
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
DATA = SHARED / "data"


def load_scorer() -> Any:
    """Load `score.py` as a module. Raises SystemExit where the shared data is absent."""
    path = SHARED / "eval/score.py"
    if not path.exists():
        raise SystemExit(f"{path} is not here: the real documents are not part of docmill")
    spec = importlib.util.spec_from_file_location("score", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
