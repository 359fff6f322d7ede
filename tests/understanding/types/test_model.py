import io

import numpy as np
import pytest

from docmill.schemas.document_types import TRAINED_TYPES
from docmill.understanding.types.model import FEATURES, TypeModel, loads, shipped


def test_the_shipped_model_is_of_these_signs_small_and_written_the_same_again() -> None:
    model = shipped()
    content = model.dumps()

    assert len(content) < 1_000_000
    assert loads(content).dumps() == content
    assert sum(model.probabilities(np.zeros(len(FEATURES), np.float32)).values()) == pytest.approx(1)


def test_a_model_is_less_sure_the_warmer_it_is() -> None:
    row = np.ones(len(FEATURES), np.float32)
    cold, warm = shipped().probabilities(row), TypeModel(shipped().trees, temperature=4.0).probabilities(row)

    assert max(warm.values()) < max(cold.values())
    assert tuple(warm) == TRAINED_TYPES


def test_a_model_of_other_signs_is_refused() -> None:
    file = io.BytesIO()
    with np.load(io.BytesIO(shipped().dumps())) as found:
        arrays = {name: found[name] for name in found.files} | {"features": np.array(["narrow"])}
    np.savez_compressed(file, **arrays)  # pyright: ignore[reportArgumentType] - names are no parameters

    with pytest.raises(ValueError, match="train it anew"):
        loads(file.getvalue())
