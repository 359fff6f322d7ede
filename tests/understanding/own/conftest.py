from collections.abc import Callable

import pytest

from docmill.model.document import Document
from docmill.model.result import Schema
from docmill.schemas.outline import outline
from docmill.understanding.corrections.fitting import taught_by
from docmill.understanding.page.conventions import conventions
from docmill.understanding.page.layout import Layout
from docmill.understanding.user_schemas.extractor import meanings_of, untaught
from docmill.understanding.user_schemas.learned import Taught

Lessons = Callable[..., Taught]


@pytest.fixture
def lesson() -> Lessons:
    """What a document with known values teaches."""

    def taught(document: Document, schema: Schema, **truth: object) -> Taught:
        layout = Layout(document)
        return taught_by(document, untaught(layout, meanings_of(outline(schema))), truth, conventions(layout))

    return taught
