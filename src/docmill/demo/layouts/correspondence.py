"""Letters, reminders and contracts: an address window, one column of one size, a deed with a large title."""

from typing import cast

from docmill.demo.canvas import GREY, Paper
from docmill.demo.layouts.blocks import address, logo, paragraph, reach, stack
from docmill.demo.plan import Correspondence

_COLUMNS = 46


def _day(letter: Correspondence) -> str:
    return letter.wording.day(letter.fields.model_dump()["issue_date"])


def _town(letter: Correspondence) -> str:
    words = letter.sender.address[-1].split(",")[0].split()
    return " ".join(word for word in words if not any(map(str.isdecimal, word)))


def _body(paper: Paper, letter: Correspondence, x: float, y: float, *, width: float, size: float) -> float:
    for text in letter.paragraphs:
        cells = [cell.strip() for cell in text.split("|")]
        if len(cells) > 1:
            for index, cell in enumerate(cells):
                paper.text(x + index * _COLUMNS, y, cell, size=size)
            y += 0.55 * size
        else:
            y = paragraph(paper, x, y, text, width=width, size=size) + 2
    return y


def window_letter(paper: Paper, letter: Correspondence) -> None:
    """Sender at the left, the address in a window at the right, the date below it, the subject in bold."""
    sender = letter.sender
    logo(paper, sender, 22, 12, 12)
    paper.text(22, 31, sender.name, size=12, bold=True, colour=sender.colour)
    stack(paper, (22, 36), [*sender.address, *reach(sender)], size=8, colour=GREY)
    stack(paper, (112, 52), address(letter.recipient), size=10.5)
    paper.text(112, 84, f"{_town(letter)}, {_day(letter)}", size=10)
    paper.text(22, 100, letter.title, size=11, bold=True)
    _body(paper, letter, 22, 112, width=165, size=10)
    paper.line(22, 277, 188, 277, colour=sender.colour)
    paper.text(105, 283, " | ".join(filter(None, (sender.bank, sender.legal))), size=6.5, align="center")


def plain_letter(paper: Paper, letter: Correspondence) -> None:
    """One column of one size, as on a typewriter: sender, recipient, date, subject, text."""
    y = stack(paper, (28, 28), address(letter.sender), size=10.5, face="serif") + 8
    y = stack(paper, (28, y), address(letter.recipient), size=10.5, face="serif") + 8
    paper.text(28, y, _day(letter), size=10.5, face="serif")
    paper.text(28, y + 14, letter.title, size=10.5, face="serif", bold=True)
    _body(paper, letter, 28, y + 26, width=150, size=10.5)


def deed(paper: Paper, letter: Correspondence) -> None:
    """A large title in the middle, numbered clauses, places to sign."""
    paper.text(105, 34, letter.title, size=17, bold=True, align="center", face="serif")
    number = cast("str | None", letter.fields.model_dump().get("number"))
    if number:
        paper.text(105, 42, f"{letter.wording.label('contract_number')}: {number}", size=9, align="center")
    y = _body(paper, letter, 28, 56, width=154, size=10.5)
    paper.text(28, y + 10, f"{_town(letter)}, {_day(letter)}", size=10.5)
    for x, house in ((28, letter.sender), (115, letter.recipient)):
        paper.line(x, y + 32, x + 65, y + 32)
        paper.text(x, y + 37, house.name, size=8, colour=GREY)
