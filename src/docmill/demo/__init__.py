"""Made-up business papers with their truth, for the demo and for tests. Drawing needs the extra `demo`."""

from pathlib import Path

from docmill.demo.truth import Sample, load_truth

__all__ = ["Sample", "generate", "load_truth"]


def generate(folder: Path, *, seed: int = 2026) -> list[Sample]:
    """Every sample in `folder`/documents, and their truth in `folder`/truth.json.

    seed: decides dust, skew and light of scans and photographs. The same seed gives the same bytes.
    Raises ModuleNotFoundError without the extra `demo`.
    """
    # reportlab is optional and takes long to load; who only reads truths does not need it.
    from docmill.demo.writing import write_samples  # noqa: PLC0415

    return write_samples(folder, seed=seed)
