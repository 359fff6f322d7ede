"""Senders and receivers: invented companies with numbers whose check digits are valid."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Literal, Protocol, cast

from stdnum import get_cc_module, iban

from docmill.demo.canvas import Colour
from docmill.schemas.fields import Party

Logo = Literal["disc", "peak", "bars", "leaf", "frame", "wave"]


class _Number(Protocol):
    is_valid: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class House:
    """A company or person. address: as printed, line by line. legal: small print of the letterhead."""

    name: str
    address: tuple[str, ...]
    country: str
    vat_id: str | None = None
    iban: str | None = None
    bic: str | None = None
    bank: str = ""
    phone: str = ""
    mail: str = ""
    legal: str = ""
    colour: Colour = (0.1, 0.2, 0.35)
    logo: Logo = "disc"

    def party(self, *, vat: bool = False) -> Party:
        """This house as a schema has it; vat: whether the paper shows its VAT number."""
        return Party(name=self.name, address=", ".join(self.address), vat_id=self.vat_id if vat else None)


def vat(country: str, pattern: str) -> str:
    """The first valid VAT number for `pattern`, whose "?" stand for check digits."""
    module = cast("_Number", get_cc_module(country.lower(), "vat"))
    return _first_valid(pattern, module.is_valid)


def account(pattern: str) -> str:
    """The first valid IBAN for `pattern`, whose "?" stand for check digits."""
    return _first_valid(pattern, iban.is_valid)


def _first_valid(pattern: str, is_valid: Callable[[str], bool]) -> str:
    for digits in product("0123456789", repeat=pattern.count("?")):
        filled = pattern.replace("?", "{}").format(*digits)
        if is_valid(filled):
            return filled
    raise ValueError(f"no check digits make {pattern!r} valid")
