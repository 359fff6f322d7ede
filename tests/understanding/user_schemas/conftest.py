from collections.abc import Callable

import pytest

from docmill.model.document import Document
from docmill.model.result import Schema
from docmill.understanding.corrections.fit import make_example
from docmill.understanding.user_schemas.schema_model import Example

MakeExample = Callable[..., Example]


@pytest.fixture
def example() -> MakeExample:
    """Makes an example of a document with known values."""

    def make(document: Document, schema: Schema, **values: object) -> Example:
        return make_example(document, schema, values)

    return make
