from collections.abc import Callable

import pytest

from docmill.learning.teaching import taught_by
from docmill.model import Document, Schema
from docmill.schemas.outline import outline
from docmill.understanding.conventions import conventions
from docmill.understanding.layout import Layout
from docmill.understanding.own.extractor import meanings_of, untaught
from docmill.understanding.own.learned import Taught

Lessons = Callable[..., Taught]


@pytest.fixture
def lesson() -> Lessons:
    """What a document with known values teaches."""

    def taught(document: Document, schema: Schema, **truth: object) -> Taught:
        layout = Layout(document)
        return taught_by(document, untaught(layout, meanings_of(outline(schema))), truth, conventions(layout))

    return taught
