from collections.abc import Callable

import pytest

from docmill.model.document import Document
from docmill.model.result import Schema
from docmill.schemas.outline import outline
from docmill.understanding.corrections.fitting import taught_by
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.user_schemas.extractor import meanings_of, untaught
from docmill.understanding.user_schemas.learned import Taught

Lessons = Callable[..., Taught]


@pytest.fixture
def lesson() -> Lessons:
    """What a document with known values teaches."""

    def taught(document: Document, schema: Schema, **truth: object) -> Taught:
        candidates = candidates_of(document)
        return taught_by(
            document, untaught(candidates, meanings_of(outline(schema))), truth, candidates.conventions
        )

    return taught
