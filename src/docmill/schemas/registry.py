"""Which schema belongs to which document type, and what it cannot do without."""

from docmill.model.result import Schema
from docmill.schemas import types
from docmill.schemas.document_types import DEFINITIONS

REGISTRY: dict[str, Schema] = {
    name: Schema(name, getattr(types, definition.model), definition.critical)
    for name, definition in DEFINITIONS.items()
}
"""The schemas that come with docmill, by document type."""
