"""Check of formulas that have no result."""

from collections.abc import Iterator

from docmill.model.result import Failure
from docmill.understanding.formulas import UNCALCULATED, rows_without_result
from docmill.understanding.gate.inputs import GateInput


def check_formulas(judged: GateInput) -> Iterator[Failure]:
    """A failure of a file with formulas that no program has calculated, or that have an error as result."""
    if next(rows_without_result(judged.document), None) is not None:
        yield Failure(check="formulas", message=UNCALCULATED)
