"""Check of pages whose own text is not believed and which could not be recognised well either."""

from collections.abc import Iterator

from docmill.model.result import Failure
from docmill.understanding.gate.inputs import GateInput

_READ_WELL = 0.7
"""Least quality of a page that was recognised because its own text is not believed."""


def check_text_layers(judged: GateInput) -> Iterator[Failure]:
    """A failure for each page of which neither the stored nor the recognised text can be relied on."""
    for page in judged.document.pages:
        if page.layer_doubt is not None and page.quality < _READ_WELL:
            message = (
                f"The text stored in the PDF is not what page {page.number} shows, and recognition did not"
                " read it well; please compare all values with the page."
            )
            yield Failure(check="text_layer", message=message)
