"""Checks of the parties: seller and buyer are two."""

from collections.abc import Iterator

from docmill.model.document import letters_and_digits
from docmill.model.result import Failure
from docmill.understanding.gate.inputs import GateInput
from docmill.understanding.text.codes import is_vat_id

_PAIRS = (("seller", "buyer"), ("employer", "employee"), ("sender", "recipient"))
_MEMBERS = ("name", "vat_id", "address")
_SHORTEST = 4
"""Letters and digits of a name or address that tells who is meant."""


def check_parties(judged: GateInput) -> Iterator[Failure]:
    """A failure of two parties with the same name, VAT identifier or address."""
    for first, second in _PAIRS:
        for member in _MEMBERS:
            paths = (f"{first}.{member}", f"{second}.{member}")
            one, other = (letters_and_digits(str(judged.values.get(path) or "")) for path in paths)
            if member == "vat_id" and not is_vat_id(str(judged.values.get(paths[0]))):
                continue  # which another check says
            if one == other and len(one) >= _SHORTEST:
                names = f"{judged.name(paths[0])} and {judged.inner_name(paths[1])}"
                message = f"{names} are the same: {judged.values[paths[0]]!r}."
                yield Failure(check="same_party", message=message, fields=paths)
                break
