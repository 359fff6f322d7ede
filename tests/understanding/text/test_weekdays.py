import pytest

from docmill.understanding.text.weekdays import orders_by_weekday


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("Fri 04/07/2017 3:57 PM", "month first"),  # 7 April; 4 July was a Tuesday
        ("Mon    03/07/2017  10:45AM", "day first"),  # 3 July; 7 March was a Tuesday
        ("DATE 09/06/2007 THU  TIME 09:30", "month first"),
        ("mardi, 06-09-2016", "day first"),
        ("Thursday\n09/06/07", "month first"),
    ],
)
def test_the_day_of_the_week_tells_which_number_is_the_month(text: str, order: str) -> None:
    assert list(orders_by_weekday(text)) == [order]


@pytest.mark.parametrize(
    "text",
    [
        "04/07/2017",
        "Wed 04/07/2017",  # neither reading is a Wednesday
        "Fri 07/07/2017",  # the same day in either order
        "Fri 04.07.2017",  # dates with points are day first
        "Fri 25/08/2017",  # clear anyway
        "Mon 03/07/2017 Tue",  # two days
        "Frida 04/07/2017",
    ],
)
def test_nothing_is_told_where_the_day_of_the_week_does_not_decide(text: str) -> None:
    assert not list(orders_by_weekday(text))
