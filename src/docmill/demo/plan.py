"""A sample before it is made: its file name, form, layout, and what is printed on it."""

from dataclasses import dataclass

from docmill.demo.letter import Letter, Statement
from docmill.demo.truth import Form
from docmill.schemas.document_types import DocumentType
from docmill.schemas.fields import Fields


@dataclass(frozen=True, slots=True)
class Plan:
    """A sample before it is made. layout: a family of `layouts.FAMILIES`."""

    name: str
    form: Form
    layout: str
    document_type: DocumentType
    paper: Letter | Statement

    @property
    def country(self) -> str:
        """The country whose conventions the paper follows."""
        return (self.paper.sender if isinstance(self.paper, Letter) else self.paper.bank).country

    @property
    def truth(self) -> Fields:
        """The fields that are printed."""
        return self.paper.fields
