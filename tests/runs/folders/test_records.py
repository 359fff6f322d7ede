import errno
import json
import os
import resource
from pathlib import Path

import pytest

from docmill.errors import MisconfiguredError, ServerError
from docmill.runs.folders.record_file import EarlierRecord, RecordFile


def _record(source: str, status: str = "completed") -> dict[str, str]:
    return {"source": source, "status": status, "content_hash": f"hash of {source}"}


def _write(records: RecordFile, *several: dict[str, str]) -> None:
    for record in several:
        records.write(record)
    records.flush()


def _written(path: Path) -> list[str]:
    return [json.loads(line)["source"] for line in path.read_text().splitlines()]


def test_a_later_run_goes_on_from_what_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "out" / "run.jsonl"
    first = RecordFile(path)
    assert first.open(keep=lambda _: True) == {}
    _write(first, _record("a"))
    _write(first, _record("b", "failed"))
    first.close()
    second = RecordFile(path)

    known = second.open(keep=lambda record: record["status"] != "failed")
    _write(second, _record("b"))
    second.close()

    assert known == {"a": EarlierRecord("hash of a", "completed")}
    assert _written(path) == ["a", "b"]


def test_the_line_a_killed_run_was_writing_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(json.dumps(_record("a")) + "\n" + '{"source": "b", "sta')

    records = RecordFile(path)
    known = records.open(keep=lambda _: True)
    records.close()

    assert known == {"a": EarlierRecord("hash of a", "completed")}
    assert _written(path) == ["a"]


def test_a_run_that_was_killed_within_a_letter_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes((json.dumps(_record("a")) + "\n" + '{"source": "ä').encode()[:-1])

    records = RecordFile(path)
    known = records.open(keep=lambda _: True)
    records.close()

    assert known == {"a": EarlierRecord("hash of a", "completed")}


def test_a_name_that_is_no_text_is_known_again(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    name = os.fsdecode(b"sk\xe4nk.pdf")
    first = RecordFile(path)
    first.open(keep=lambda _: True)
    _write(first, _record(name))
    first.close()

    again = RecordFile(path)
    known = again.open(keep=lambda _: True)
    again.close()

    assert set(known) == {name}
    assert _written(path) == [name]


@pytest.mark.parametrize("line", ["no json", "{}", "[]", '{"source": "a"}'])
def test_a_file_that_holds_something_else_is_left_alone(tmp_path: Path, line: str) -> None:
    path = tmp_path / "letters.txt"
    path.write_text(line + "\n")

    with pytest.raises(MisconfiguredError, match=r"line 1 of .* is not a record"):
        RecordFile(path).open(keep=lambda _: True)

    assert path.read_text() == line + "\n"
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(MisconfiguredError, match="cannot write"):
        RecordFile(tmp_path).open(keep=lambda _: True)


def test_two_runs_do_not_write_one_file(tmp_path: Path) -> None:
    first, second = RecordFile(tmp_path / "run.jsonl"), RecordFile(tmp_path / "run.jsonl")
    first.open(keep=lambda _: True)

    with pytest.raises(MisconfiguredError, match="another run"):
        second.open(keep=lambda _: True)

    _write(first, _record("a"))
    first.close()
    assert set(second.open(keep=lambda _: True)) == {"a"}
    second.close()


def test_a_pipe_or_device_is_written_to_and_stays_what_it_is(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    records = RecordFile(pipe)

    known = records.open(keep=lambda _: True)
    _write(records, _record("a"))
    records.close()

    assert known == {}
    assert json.loads(os.read(reader, 10_000))["source"] == "a"
    assert pipe.is_fifo()
    os.close(reader)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "runs" / "1.jsonl", tmp_path / "latest.jsonl"
    target.parent.mkdir()
    target.write_text(json.dumps(_record("a")) + "\n")
    link.symlink_to(target)
    records = RecordFile(link)

    known = records.open(keep=lambda _: True)
    _write(records, _record("b"))
    records.close()

    assert set(known) == {"a"}
    assert link.is_symlink()
    assert _written(target) == ["a", "b"]


def test_a_full_disk_is_an_error_that_can_be_tried_again(tmp_path: Path) -> None:
    records = RecordFile(tmp_path / "run.jsonl")
    records.open(keep=lambda _: True)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(ServerError, match="File too large"):
            _write(records, _record("a"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        records.close()


def test_a_record_that_a_full_disk_took_half_of_is_written_once(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    records = RecordFile(path)
    records.open(keep=lambda _: True)
    _write(records, _record("a"))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 20, hard))
    try:
        with pytest.raises(ServerError, match="File too large"):
            _write(records, _record("b"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert _written(path) == ["a"]
    records.flush()  # it was kept
    records.close()

    assert _written(path) == ["a", "b"]
    assert set(RecordFile(path).read_earlier(keep=lambda _: True)) == {"a", "b"}


@pytest.mark.parametrize("tail", [b'{"source": "b", "sta', b'{"sou', bytes(40)])
def test_a_torn_record_at_the_end_is_cut_off_and_told(tmp_path: Path, tail: bytes) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(json.dumps(_record("a")).encode() + b"\n" + tail)
    records = RecordFile(path)

    known = records.open(keep=lambda _: True)
    _write(records, _record("b"))
    records.close()

    assert set(known) == {"a"}
    assert records.torn_count == 1
    assert _written(path) == ["a", "b"]


def test_a_torn_record_among_others_is_taken_out_and_told(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lines = [json.dumps(_record(name)) for name in "abc"]
    path.write_text(f"{lines[0]}\n{lines[1][:30]}{lines[2]}\n{lines[2]}\n")
    records = RecordFile(path)

    known = records.open(keep=lambda _: True)
    records.close()

    assert set(known) == {"a", "c"}
    assert records.torn_count == 1
    assert _written(path) == ["a", "c"]


def test_a_text_without_line_end_is_no_torn_record(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear Anna")

    with pytest.raises(MisconfiguredError, match=r"line 1 of .* is not a record"):
        RecordFile(path).open(keep=lambda _: True)

    assert path.read_text() == "Dear Anna"
    RecordFile(tmp_path / "other").open(keep=lambda _: True)


def test_of_a_changed_document_only_the_new_record_stays(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("".join(json.dumps(_record(name)) + "\n" for name in "ab"))
    records = RecordFile(path)
    records.open(keep=lambda _: True)

    _write(records, {**_record("a"), "content_hash": "another"})
    records.close()

    assert _written(path) == ["b", "a"]
    assert RecordFile(path).read_earlier(keep=lambda _: True)["a"].content_hash == "another"


def test_a_file_that_a_run_gave_up_can_be_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("no record\n")
    records = RecordFile(path)
    with pytest.raises(MisconfiguredError):
        records.open(keep=lambda _: True)

    path.write_text("")

    assert records.open(keep=lambda _: True) == {}
    records.close()


def test_a_disk_that_loses_what_was_written_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = RecordFile(tmp_path / "run.jsonl")
    records.open(keep=lambda _: True)
    _write(records, _record("a"))

    def lost(descriptor: int) -> None:
        raise OSError(errno.EDQUOT, f"Disk quota exceeded by {descriptor}")

    monkeypatch.setattr(os, "fsync", lost)

    with pytest.raises(MisconfiguredError, match=r"cannot write .* quota exceeded"):
        records.close()


def test_records_are_on_the_disk_when_they_were_flushed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = RecordFile(tmp_path / "run.jsonl")
    records.open(keep=lambda _: True)
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda _: synced.append(1))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]

    _write(records, _record("a"), _record("b"))
    records.flush()

    assert len(synced) == 1
    assert _written(tmp_path / "run.jsonl") == ["a", "b"]
    records.close()


def test_a_pipe_that_nobody_reads_any_more_is_not_tried_again(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    records = RecordFile(pipe)
    records.open(keep=lambda _: True)
    os.close(reader)

    with pytest.raises(MisconfiguredError, match="nobody reads"):
        _write(records, _record("a"))
    records.close()
