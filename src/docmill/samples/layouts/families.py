"""Layout families by name."""

from collections.abc import Callable

from docmill.samples.layouts import letters
from docmill.samples.letter import Letter, Statement
from docmill.samples.paper import Paper

_BILLS: dict[str, Callable[[Paper, Letter], None]] = {
    "envelope": letters.envelope,
    "band": letters.band,
    "airy": letters.airy,
    "sidebar": letters.sidebar,
}
_STATEMENTS: dict[str, Callable[[Paper, Statement], None]] = {}


def draw(layout: str, content: Letter | Statement) -> bytes:
    """`content` as a PDF in the family `layout`."""
    title = f"{content.fields.number}" if isinstance(content, Letter) else f"{content.fields.iban}"
    paper = Paper(content.size, title=title)
    if isinstance(content, Letter):
        _BILLS[layout](paper, content)
    else:
        _STATEMENTS[layout](paper, content)
    return paper.finish()
