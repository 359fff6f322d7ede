"""How far a run is, as a bar of tqdm."""

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from tests.runs.components import text_pipeline

from docmill.errors import MisconfiguredError
from docmill.runs.events import Progress, RunEnded, RunStarted
from docmill.runs.reporting.notebook_progress import NotebookProgress, is_in_notebook
from docmill.runs.stores.memory import MemoryStore


def last_line(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err.strip().rpartition("\r")[2]


def progress_of(done: int, total: int, *, is_total_final: bool, waiting: int = 0) -> Progress:
    return Progress(
        total,
        done,
        1,
        2,
        is_total_final=is_total_final,
        rate=1.0,
        eta_s=None,
        current_document="in/file.pdf",
        waiting=waiting,
    )


async def test_a_run_ends_with_all_documents(capsys: pytest.CaptureFixture[str]) -> None:
    await text_pipeline().arun("abc", store=MemoryStore(), progress="notebook")

    line = last_line(capsys)
    assert line.startswith("100%")
    assert "3/3" in line


def test_the_total_appears_when_it_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    bar = NotebookProgress()
    bar(RunStarted("shown"))
    bar(progress_of(4, 20, is_total_final=False, waiting=3))

    line = last_line(capsys)
    assert line.startswith("5 documents")
    assert line.endswith("1 failed, 3 waiting, 20 listed so far, file.pdf]")

    bar(progress_of(9, 40, is_total_final=True))
    line = last_line(capsys)
    assert " 10/40 " in line
    assert line.startswith(" 25%")

    bar(RunEnded("shown", 9, 1, is_interrupted=True))
    assert last_line(capsys).endswith("1 failed, interrupted]")


def test_a_second_run_has_a_bar_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    bar = NotebookProgress()
    for total in (4, 8):
        bar(RunStarted("shown"))
        bar(progress_of(total - 1, total, is_total_final=True))

    assert " 8/8 " in last_line(capsys)
    bar.close()


def test_without_tqdm_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)

    with pytest.raises(MisconfiguredError, match=r"needs tqdm; run: pip install 'docmill\[notebook\]'"):
        text_pipeline().run("abc", store=MemoryStore(), progress="notebook")


def test_a_notebook_is_told_from_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    def ipython(shell: Any) -> SimpleNamespace:
        return SimpleNamespace(get_ipython=lambda: shell)

    monkeypatch.setitem(sys.modules, "IPython", ipython(None))
    assert not is_in_notebook()
    monkeypatch.setitem(sys.modules, "IPython", ipython(SimpleNamespace()))
    assert not is_in_notebook()  # IPython in a terminal
    monkeypatch.setitem(sys.modules, "IPython", ipython(SimpleNamespace(kernel=object())))
    assert is_in_notebook()
    monkeypatch.delitem(sys.modules, "IPython")
    assert not is_in_notebook()


async def test_a_notebook_shows_a_bar_of_tqdm_where_that_is_installed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("docmill.runs.reporting.listeners.is_in_notebook", lambda: True)

    await text_pipeline().arun("abc", store=MemoryStore(), progress="auto")
    assert "3/3" in last_line(capsys)

    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    await text_pipeline().arun("abc", store=MemoryStore(), progress="auto")
    assert last_line(capsys) == ""
