"""Rows that a person took out of a list, and how the checks see those that are left."""

from docmill.model.result import Failure
from docmill.service.review.rows import RowsLeft


def test_the_rows_that_are_left_are_counted_without_gaps_and_failures_name_them_as_before() -> None:
    data = {"lines": [{"net_amount": "1.00"}, {}, {"net_amount": "3.00"}], "number": "7"}
    failure = Failure(check="sum", message="wrong", fields=("lines[2].net_amount", "number"))

    left = RowsLeft.of(data)

    assert left.data == {"lines": [{"net_amount": "1.00"}, {"net_amount": "3.00"}], "number": "7"}
    assert left.renumbered({"lines[2].net_amount": 1, "number": 2}) == {"lines[1].net_amount": 1, "number": 2}
    (renumbered,) = left.renumber_failures([failure])
    assert renumbered.fields == ("lines[1].net_amount", "number")
    assert left.restore([renumbered]) == (failure,)


def test_without_removed_rows_nothing_is_renumbered() -> None:
    data = {"lines": [{"net_amount": "1.00"}], "number": None}

    left = RowsLeft.of(data)

    assert (left.data, left.numbers) == (data, {})
    assert RowsLeft.of(None).data == {}
