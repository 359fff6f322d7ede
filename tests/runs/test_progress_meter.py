"""What a runner counts."""

from docmill.runs.events import Event, Progress
from docmill.runs.progress import ProgressMeter


def test_a_document_counts_as_waiting_until_it_may_be_tried_again() -> None:
    events: list[Event] = []
    now = 0.0
    meter = ProgressMeter(events.append, clock=lambda: now)
    meter.begin({"pending": 3})

    meter.postpone(30)
    meter.postpone(10)
    for second in (0, 5, 10, 20, 30, 40):
        now = float(second)
        meter.tell()

    assert [event.waiting for event in events if isinstance(event, Progress)] == [2, 1, 0]
