"""XML opened with care, and values found in it by paths of local names."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple, TypeAlias

from lxml import etree
from lxml.etree import _Element  # pyright: ignore[reportPrivateUsage] - the only name it has

Element: TypeAlias = _Element

_STEP = re.compile(r"(?P<names>@?[\w|]+)(?P<conditions>(?:\[[^\]]*\])*)")
_CONDITION = re.compile(r"\[(?P<absent>!?)(?P<path>[^\]=]+)(?:=(?P<value>[^\]]*))?\]")
_BOOLEANS = {"0": "false", "1": "true"}  # both forms are valid (XML Schema Part 2, 3.2.2)


class UnreadableError(Exception):
    """The text cannot be taken for XML; the message says why, in a person's words."""


class _Condition(NamedTuple):
    """path: from the element. value: what must stand there, if nothing must be absent."""

    path: str
    value: str
    is_absent: bool


class _Step(NamedTuple):
    names: frozenset[str]
    conditions: tuple[_Condition, ...]


def parsed(content: bytes) -> Element:
    """The root. Raises UnreadableError for what is no XML, or more than an e-invoice may be.

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


def name(element: Element) -> str:
    """The local name: the generations of CII differ in their namespaces, and senders in their prefixes."""
    tag = element.tag
    return _local(tag) if isinstance(tag, str) else ""  # pyright: ignore[reportUnnecessaryIsInstance] - an entity's tag is a function


@lru_cache(maxsize=1000)
def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def found(element: Element, path: str, known: Mapping[str, object]) -> Iterator[Element]:
    """The elements at `path`, in the document's order.

    A step is a local name, or several parted by "|", with conditions: `[@scheme=VA]`, `[Code=380]`,
    `[!Code]` for one that must be absent. `{BT-5}` in a condition stands for the value known of that term;
    while there is none, any will do.
    """
    yield from _below([element], _steps(path), known)


def texts(element: Element, path: str, known: Mapping[str, object]) -> Iterator[str]:
    """Yield the texts at `path`, which may end in an attribute, `@name`; none that is empty."""
    *steps, last = _steps(path)
    (attribute, *_) = last.names
    if not attribute.startswith("@"):
        values = ("".join(map(str, one.itertext())) for one in found(element, path, known))
    else:
        owners = _below([element], steps, known)
        values = (str(one.get(attribute[1:], "")) for one in owners)
    yield from filter(None, (value.strip() for value in values))


def _below(
    elements: Sequence[Element], steps: Sequence[_Step], known: Mapping[str, object]
) -> Iterator[Element]:
    if not steps:
        yield from elements
        return
    first, *rest = steps
    for element in elements:
        for child in element:
            if name(child) in first.names and all(_holds(child, one, known) for one in first.conditions):
                yield from _below([child], rest, known)


def _holds(element: Element, condition: _Condition, known: Mapping[str, object]) -> bool:
    values = list(texts(element, condition.path, known))
    if condition.is_absent:
        return not values
    wanted = condition.value
    if wanted.startswith("{"):
        term = known.get(wanted[1:-1])
        if term is None:
            return True
        wanted = str(term)
    return any(_BOOLEANS.get(value, value) == wanted for value in values)


@cache
def _steps(path: str) -> tuple[_Step, ...]:
    """A path taken apart; there are as many as the tables have, so all are remembered."""
    return tuple(
        _Step(
            frozenset(step["names"].split("|")),
            tuple(
                _Condition(one["path"], one["value"] or "", bool(one["absent"]))
                for one in _CONDITION.finditer(step["conditions"])
            ),
        )
        for step in _STEP.finditer(path)
    )
