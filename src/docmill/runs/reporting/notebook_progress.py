"""How far a run is, as a bar of tqdm in a notebook."""

import sys
from typing import Any

from docmill.runs.components.libraries import required
from docmill.runs.events import Event, Progress, RunEnded, RunStarted
from docmill.runs.reporting.progress_words import name_text

_LONGEST = 40
"""Characters of the current document's name: a wide bar would push the counts away."""


class NotebookProgress:
    """A bar of tqdm: a widget in a notebook that has `ipywidgets`, else a line of text.

    It is a function for `on_event`, to be used for one run at a time. Raises MisconfiguredError if tqdm is
    not installed.
    """

    def __init__(self) -> None:
        self._make: Any = required("tqdm.auto", "notebook").tqdm
        self._bar: Any = None

    def __call__(self, event: Event) -> None:
        """Show what the event tells."""
        match event:
            case RunStarted():
                self.close()
            case Progress():
                self._update(event)
            case RunEnded():
                if self._bar is not None:
                    self._bar.set_postfix_str(_facts(event.failed, is_interrupted=event.is_interrupted))
                self.close()
            case _:
                pass

    def close(self) -> None:
        """Leave the bar as it is."""
        bar, self._bar = self._bar, None
        if bar is not None:
            bar.close()

    def _update(self, progress: Progress) -> None:
        done = progress.completed + progress.failed
        if self._bar is None:
            # What was done before this call must not count as its speed.
            total = progress.total if progress.is_total_final else None
            self._bar = self._make(total=total, initial=done, unit=" documents", dynamic_ncols=True)
        bar = self._bar
        if progress.is_total_final and bar.total != progress.total:
            _set_total(bar, progress.total)
        facts = _facts(progress.failed, progress=progress)
        bar.set_postfix_str(facts, refresh=False)
        if done > bar.n:
            bar.update(done - bar.n)
        bar.n = done
        bar.refresh()


def _set_total(bar: Any, total: int) -> None:  # noqa: ANN401  tqdm has no types
    """Give the bar its total. `reset` is the only way to tell a widget; it also forgets what was done."""
    done, started = bar.n, bar.start_t
    bar.reset(total=total)
    bar.n = bar.last_print_n = done
    bar.start_t = started


def _facts(failed: int, *, progress: Progress | None = None, is_interrupted: bool = False) -> str:
    facts = [f"{failed:,} failed"] if failed else []
    if progress is not None:
        facts += [f"{progress.waiting:,} waiting"] if progress.waiting else []
        facts += [] if progress.is_total_final else [f"{progress.total:,} listed so far"]
        facts += [name_text(progress.current_document)[-_LONGEST:]]
    facts += ["interrupted"] if is_interrupted else []
    return ", ".join(filter(None, facts))


def is_in_notebook() -> bool:
    """True in a process that runs the cells of a notebook."""
    shell = sys.modules.get("IPython")
    if shell is None:
        return False
    running: Any = getattr(shell, "get_ipython", lambda: None)()
    return running is not None and hasattr(running, "kernel")
