"""XML parsed with care, and elements and texts found in it by paths of local names."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import NamedTuple, TypeAlias

from lxml import etree
from lxml.etree import _Element  # pyright: ignore[reportPrivateUsage] - the only name it has

Element: TypeAlias = _Element

_STEP = re.compile(r"(?P<names>@?[\w|]+)(?P<conditions>(?:\[[^\]]*\])*)")
_CONDITION = re.compile(r"\[(?P<absent>!?)(?P<path>[^\]=]+)(?:=(?P<value>[^\]]*))?\]")
_BOOLEANS = {"0": "false", "1": "true"}  # both forms are valid (XML Schema Part 2, 3.2.2)


class UnreadableError(Exception):
    """The content is no XML that can be read; the message gives the reason in plain words."""


class _Condition(NamedTuple):
    """path: from the element. value: the text that must be there, unless the path must be absent."""

    path: str
    value: str
    is_absent: bool


class _Step(NamedTuple):
    names: frozenset[str]
    conditions: tuple[_Condition, ...]


def parse_xml(content: bytes) -> Element:
    """The root element. Raises UnreadableError for what is no XML, or more than an e-invoice may be.

    No entity is resolved and nothing is fetched: a document type declaration is refused altogether.
    """
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(content.lstrip(b"\xef\xbb\xbf \t\r\n"), parser)
    except (etree.XMLSyntaxError, ValueError, LookupError) as error:
        raise UnreadableError("it is no well-formed XML") from error
    if root.getroottree().docinfo.internalDTD is not None:
        raise UnreadableError("it declares a document type, which no e-invoice may")
    return root


def local_name(element: Element) -> str:
    """The name without its namespace: the generations of CII differ in theirs, and senders in prefixes."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""  # pyright: ignore[reportUnnecessaryIsInstance] - an entity's tag is a function


def find_elements(element: Element, path: str, terms: Mapping[str, object]) -> Iterator[Element]:
    """Yield the elements at a path below the element, in the document's order.

    A step is a local name, or several separated by "|", with conditions: `[@scheme=VA]`, `[Code=380]`,
    `[!Code]` for one that must be absent. `{BT-5}` in a condition is replaced by the value of that term; if
    there is none, any text will do.
    """
    elements: Iterable[Element] = (element,)
    for step in _parse_path(path):
        elements = _find_children(elements, step, terms)
    yield from elements


def find_texts(element: Element, path: str, terms: Mapping[str, object]) -> Iterator[str]:
    """Yield the texts at a path, which may end in an attribute, `@name`, without empty ones."""
    owner, _, last = path.rpartition("/")
    if last.startswith("@"):
        values = (str(child.get(last[1:], "")) for child in find_elements(element, owner, terms))
    else:
        values = ("".join(map(str, child.itertext())) for child in find_elements(element, path, terms))
    yield from filter(None, (value.strip() for value in values))


def _find_children(parents: Iterable[Element], step: _Step, terms: Mapping[str, object]) -> Iterator[Element]:
    for parent in parents:
        for child in parent:
            if local_name(child) in step.names and all(
                _is_met(condition, child, terms) for condition in step.conditions
            ):
                yield child


def _is_met(condition: _Condition, element: Element, terms: Mapping[str, object]) -> bool:
    values = list(find_texts(element, condition.path, terms))
    if condition.is_absent:
        return not values
    wanted = condition.value
    if wanted.startswith("{"):
        term = terms.get(wanted[1:-1])
        if term is None:
            return True
        wanted = str(term)
    return any(_BOOLEANS.get(value, value) == wanted for value in values)


@cache
def _parse_path(path: str) -> tuple[_Step, ...]:
    """The steps of a path; all are cached, since there are as many as the bindings have."""
    return tuple(
        _Step(
            frozenset(step["names"].split("|")),
            tuple(
                _Condition(condition["path"], condition["value"] or "", bool(condition["absent"]))
                for condition in _CONDITION.finditer(step["conditions"])
            ),
        )
        for step in _STEP.finditer(path)
    )
