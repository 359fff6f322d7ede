from importlib import resources

import pytest

from docmill.schemas.document_types import DEFINITIONS, DOCUMENT_TYPES
from docmill.schemas.outline import outline
from docmill.schemas.registry import REGISTRY


def test_every_type_has_its_file_and_every_file_its_type() -> None:
    files = {
        file.name.removesuffix(".toml")
        for file in resources.files("docmill.schemas.document_types").iterdir()
    }

    assert tuple(DEFINITIONS) == DOCUMENT_TYPES == tuple(REGISTRY)
    assert set(DOCUMENT_TYPES) <= files


@pytest.mark.parametrize("name", DOCUMENT_TYPES)
def test_what_a_type_cannot_do_without_is_a_field_of_it(name: str) -> None:
    schema = REGISTRY[name]

    assert set(schema.critical) <= {leaf.path for leaf in outline(schema)}
