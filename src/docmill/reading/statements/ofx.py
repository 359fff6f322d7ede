"""OFX: statements of bank accounts and credit cards, as SGML (version 1) and as XML (version 2).

Both are read by one tokenizer that knows nothing but tags and texts: no entity is declared, nothing fetched.
Source: Open Financial Exchange, versions 1.6 and 2.3.
"""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from xml.sax.saxutils import escape

from docmill.errors import TooLargeError, UnsupportedFileTypeError
from docmill.model.statement_columns import DecimalMark
from docmill.reading.files.file_types import OFX
from docmill.reading.statements.cell_values import find_decimal_mark, written_amount
from docmill.reading.statements.parsed import (
    MAX_BOOKINGS,
    TOO_LONG,
    ParsedStatement,
    check_count,
    choose_reference,
    damaged,
    day_of,
    decode_statement,
    find_iban,
    one_line,
)
from docmill.schemas.types import Transaction

_CHARSET = re.compile(r"^CHARSET:\s*(\S+)", re.MULTILINE)
_TOKEN = re.compile(
    r"<!\[CDATA\[((?:(?!<!\[CDATA\[)[\s\S])*?)\]\]>|<(/?)([A-Za-z][\w.]*)\s*(/?)>|<[^<>]*>|([^<]+)"
)
"""Each alternative ends before the next beginning of its kind, so that one without an end costs nothing."""
_END = re.compile(r"</\s*OFX\s*>", re.IGNORECASE)
_DAY = re.compile(r"(\d{4})(\d{2})(\d{2})")
_RESPONSES = ("STMTRS", "CCSTMTRS")
_OTHER = (
    "an OFX file without a statement of a bank account or credit card cannot be read; download the bookings "
    "of an account"
)
_DEEPEST = 40
_MOST_TAGS = 80 * MAX_BOOKINGS


@dataclass(slots=True)
class Node:
    """An element. texts: the pieces of the text of one without others in it."""

    name: str
    texts: list[str] = field(default_factory=list[str])
    children: list["Node"] = field(default_factory=list["Node"])

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(self.texts)

    def all(self, *names: str) -> Iterator["Node"]:
        """The elements of these names below this one, at any depth, in order."""
        for child in self.children:
            if child.name in names:
                yield child
            yield from child.all(*names)

    def first(self, *names: str) -> str | None:
        """The text of the element reached by these names, each below the other at any depth."""
        node: Node | None = self
        for name in names:
            node = next(node.all(name), None) if node is not None else None
        return one_line(node.text) if node is not None else None


def parse(content: bytes) -> list[ParsedStatement]:
    """The statements of a file.

    Raises CorruptError, TooLargeError, UnsupportedFileTypeError for OFX of another kind.
    """
    responses = _responses(content)
    check_count(max(len(responses), sum(1 for response in responses for _ in response.all("STMTTRN"))))
    mark = _decimal_mark(responses)
    return [_statement(response, index, mark) for index, response in enumerate(responses)]


def split(content: bytes, places: Sequence[int]) -> bytes:
    """Those statements of a file that stand at these places, from 0, as OFX 2."""
    responses = _responses(content)
    header = '<?xml version="1.0" encoding="UTF-8"?>\n<?OFX OFXHEADER="200" VERSION="211"?>\n'
    body = "".join(f"<STMTTRNRS>{_markup(responses[place])}</STMTTRNRS>" for place in places)
    return f"{header}<OFX><BANKMSGSRSV1>{body}</BANKMSGSRSV1></OFX>".encode()


def _markup(node: Node) -> str:
    inner = "".join(map(_markup, node.children)) if node.children else escape(node.text)
    return f"<{node.name}>{inner}</{node.name}>"


def _responses(content: bytes) -> list[Node]:
    charset = _CHARSET.search(content[:1000].decode("ascii", "replace"))
    label = charset[1] if charset else None
    text = decode_statement(content, f"windows-{label}" if label and label.isdecimal() else label)
    responses = list(_tree(text).all(*_RESPONSES))
    if not _END.search(text):
        raise damaged("its end is missing")
    if not responses:
        raise UnsupportedFileTypeError(_OTHER, media_type=OFX.media_type)
    return responses


def _tree(text: str) -> Node:
    """The elements of a file. In version 1, elements with a text have no end tag."""
    if text.count("<") > _MOST_TAGS:
        raise TooLargeError(TOO_LONG)
    ended = {name.upper() for name in re.findall(r"</\s*([\w.]+)", text)}
    root = Node("")
    open_nodes, leaf = [root], root
    for token in _TOKEN.finditer(text):
        data, slash, name, empty, characters = token.groups()
        if name is None:
            content = data if data is not None else html.unescape(characters or "")
            if leaf is not root:
                leaf.texts.append(content)
            continue
        name = name.upper()
        if slash:
            depths = [depth for depth, node in enumerate(open_nodes) if node.name == name]
            if depths and depths[-1]:
                del open_nodes[depths[-1] :]
            leaf = root
            continue
        leaf = Node(name)
        open_nodes[-1].children.append(leaf)
        if name in ended and not empty:
            open_nodes.append(leaf)
            if len(open_nodes) > _DEEPEST:
                raise damaged("its elements are nested too deeply")
    return root


def _statement(response: Node, index: int, mark: DecimalMark | None) -> ParsedStatement:
    currency = (response.first("CURDEF") or "").upper() or None
    owner = next(response.all("BANKACCTFROM", "CCACCTFROM"), Node(""))
    account = owner.first("ACCTID")
    iban = find_iban(account)
    listed = next(response.all("BANKTRANLIST"), Node(""))
    transactions = tuple(_transaction(node, currency, mark) for node in listed.all("STMTTRN"))
    end = _day(listed.first("DTEND"))
    balance = response.first("LEDGERBAL", "BALAMT")
    as_of = _day(response.first("LEDGERBAL", "DTASOF"))
    latest = max((booking.date for booking in transactions if booking.date is not None), default=None)
    # The balance may be that of the download, days after the last booking that is listed.
    is_closing = as_of is None or ((latest is None or as_of >= latest) and (end is None or as_of <= end))
    return ParsedStatement(
        (index,),
        iban=iban,
        account=None if iban else " ".join(filter(None, (owner.first("BANKID"), account))) or None,
        currency=currency,
        period_start=_day(listed.first("DTSTART")),
        period_end=end or (as_of if is_closing else None),
        closing=_signed(balance, "a balance", mark) if balance is not None and is_closing else None,
        transactions=transactions,
    )


def _transaction(node: Node, currency: str | None, mark: DecimalMark | None) -> Transaction:
    other = next(node.all("BANKACCTTO", "CCACCTTO"), Node(""))
    foreign = next(node.all("CURRENCY"), Node("")).first("CURSYM")
    memo = node.first("MEMO")
    name = node.first("PAYEE", "NAME") or node.first("NAME")
    return Transaction(
        date=_day(node.first("DTPOSTED")),
        amount=_signed(node.first("TRNAMT"), "the amount of a booking", mark),
        currency=foreign or currency,
        counterparty=name,
        iban=find_iban(other.first("ACCTID")),
        reference=choose_reference(node.first("REFNUM"), node.first("CHECKNUM")),
        description=memo,
    )


def _decimal_mark(responses: Sequence[Node]) -> DecimalMark | None:
    """The decimal mark of all amounts of a file, which may have marks between thousands, too.

    None if amounts contradict each other; then each counts alone.
    """
    nodes = (node for response in responses for node in response.all("TRNAMT", "BALAMT"))
    amounts = [written for node in nodes if (written := written_amount(node.text, frozenset())) is not None]
    return find_decimal_mark(amounts)


def _signed(text: str | None, what: str, mark: DecimalMark | None) -> Decimal:
    """The amount with its sign. Raises CorruptError."""
    written = written_amount(text or "", frozenset())
    usual = mark or (find_decimal_mark([written]) if written is not None else None)
    amount = written.value(usual) if written is not None and usual is not None else None
    if amount is None:
        raise damaged(f"{what} is no number")
    return amount


def _day(text: str | None) -> date | None:
    return day_of(_DAY.match(text or ""))
