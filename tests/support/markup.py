"""Markup that a page must show as text."""

from html.parser import HTMLParser

import httpx

HOSTILE = "\"'><hostile onhostile=1></script></textarea></title>"


class _Elements(HTMLParser):
    """Finds the element of `HOSTILE` where a page has not escaped it."""

    def __init__(self) -> None:
        super().__init__()
        self.is_hostile = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.is_hostile |= tag == "hostile" or any(name == "onhostile" for name, _ in attrs)


def runs_markup(answer: httpx.Response) -> bool:
    """Whether a page has the element of `HOSTILE` as an element, and not as text."""
    elements = _Elements()
    if answer.headers.get("content-type", "").startswith("text/html"):
        elements.feed(answer.text)
    return elements.is_hostile
