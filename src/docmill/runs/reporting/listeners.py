"""Who is told of a run: the function of the caller, and what shows how far it is."""

import logging
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Literal, TypeAlias

from docmill.errors import MisconfiguredError
from docmill.runs.events import Event
from docmill.runs.reporting.json_log import JsonLog
from docmill.runs.reporting.notebook_progress import NotebookProgress, is_in_notebook
from docmill.runs.reporting.progress_bar import ProgressBar, is_terminal

log = logging.getLogger(__name__)

ShownProgress: TypeAlias = Literal["auto", "bar", "notebook", "json"]
"""`auto`: a bar in a terminal, one of tqdm in a notebook if that is installed, else nothing."""
Listener: TypeAlias = Callable[[Event], None]


@contextmanager
def listening(progress: ShownProgress | None, on_event: Listener | None) -> Generator[Listener | None]:
    """One function for all who are told; their errors are logged, and harm neither the run nor each other.

    None if there is nobody.

    Raises MisconfiguredError if the progress cannot be shown as it is asked for.
    """
    shown = _shown(progress)
    try:
        yield guarded(shown, on_event)
    finally:
        if isinstance(shown, ProgressBar | NotebookProgress):
            try:
                shown.close()
            except Exception:
                log.exception("the progress of the run cannot be shown to its end")


def _shown(progress: ShownProgress | None) -> Listener | None:
    if progress is None:
        return None
    make = _MAKERS.get(progress)
    if make is None:
        raise MisconfiguredError(
            f"progress cannot be shown as {progress!r}, but as {', '.join(_MAKERS)} or None"
        )
    return make()


def _automatic() -> Listener | None:
    if is_in_notebook():
        with suppress(MisconfiguredError):  # without tqdm, nothing is shown
            return NotebookProgress()
        return None
    return ProgressBar() if is_terminal(sys.stderr) else None


_MAKERS: Mapping[str, Callable[[], Listener | None]] = {
    "auto": _automatic,
    "bar": ProgressBar,
    "notebook": NotebookProgress,
    "json": lambda: JsonLog(sys.stderr),
}


def guarded(*listeners: Listener | None) -> Listener | None:
    """One function for all of them. Errors of one harm nothing; the first one of each is logged.

    None if there is nobody: then events need not even be made.
    """
    told = [_guarded(listener) for listener in listeners if listener is not None]
    if len(told) <= 1:
        return told[0] if told else None

    def notify(event: Event) -> None:
        for tell in told:
            tell(event)

    return notify


def _guarded(listener: Callable[[Event], None]) -> Callable[[Event], None]:
    """The function, whose errors harm nothing; the first one is logged."""
    has_failed = False

    def notify(event: Event) -> None:
        nonlocal has_failed
        try:
            listener(event)
        except Exception:
            if not has_failed:
                log.exception("the function that is told of events failed; the run goes on")
            has_failed = True

    return notify
