import json
from collections.abc import Callable

import numpy as np
import pytest
import zstandard

from docmill import transcription
from docmill.model import Document


def test_a_document_survives_storing(make_document: Callable[..., Document]) -> None:
    document = make_document("Total   12,50 €", "", "Seite 3")

    again = transcription.loads(transcription.dumps(document))

    assert again.text == document.text
    assert [page.number for page in again.pages] == [1, 2, 3]
    np.testing.assert_allclose(again.pages[0].words.boxes, document.pages[0].words.boxes, atol=1e-5)
    assert again.pages[0].words.boxes.dtype == np.float32
    assert transcription.dumps(again) == transcription.dumps(document)


def test_bytes_that_are_no_transcription_are_refused() -> None:
    with pytest.raises(ValueError, match="not a transcription"):
        transcription.loads(b"{}")


def test_a_format_of_the_future_is_refused() -> None:
    future = zstandard.compress(json.dumps({"format": 99}).encode())

    with pytest.raises(ValueError, match="format 99 is unknown"):
        transcription.loads(future)
