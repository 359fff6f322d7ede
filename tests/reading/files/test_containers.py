import io
import stat
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from docmill.errors import CorruptError, EncryptedError, TooLargeError
from docmill.reading.child import tasks
from docmill.reading.files import containers, file_types
from docmill.reading.files.containers import (
    DAMAGED,
    EMPTY,
    ENCRYPTED,
    LINK,
    TOO_MUCH,
    UNKNOWN_PACKING,
    MemberBatch,
)
from docmill.reading.files.options import ReadingOptions

OPTIONS = ReadingOptions()

Pack = Callable[..., Path]


@pytest.fixture
def pack(tmp_path: Path) -> Pack:
    def make(*members: tuple[str | zipfile.ZipInfo, bytes], how: int = zipfile.ZIP_DEFLATED) -> Path:
        path = tmp_path / "a.zip"
        with warnings.catch_warnings(), zipfile.ZipFile(path, "w", how) as archive:
            warnings.simplefilter("ignore")  # that a name is there twice is what a test is about
            for name, content in members:
                archive.writestr(name, content)
        return path

    return make


def taken(path: Path, options: ReadingOptions = OPTIONS, *, first: int = 0, room: int = 10**9) -> MemberBatch:
    with containers.open_archive(path, options) as held:
        return containers.take_batch(held, first, room, options)


def found(path: Path, options: ReadingOptions = OPTIONS) -> dict[str, bytes | str | None]:
    parts, contents, _ = taken(path, options)
    return {part.name: part.problem or content for part, content in zip(parts, contents, strict=True)}


@pytest.mark.parametrize(
    "how", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
)
def test_the_files_of_an_archive_come_out_as_they_went_in(pack: Pack, how: int) -> None:
    path = pack(("a.pdf", b"first"), ("2024/b.pdf", b"second"), ("2024/", b""), how=how)

    assert found(path) == {"a.pdf": b"first", "2024/b.pdf": b"second"}


def test_what_is_listed_is_what_is_taken_out(pack: Pack) -> None:
    path = pack(("a.pdf", b"1"), ("a.pdf", b"2"), ("__MACOSX/._a.pdf", b"3"), ("empty.txt", b""))

    listed = tasks.list_parts(path, "application/zip", OPTIONS)

    assert listed == taken(path).parts
    assert [(part.name, part.problem) for part in listed] == [
        ("a.pdf", None),
        ("a (2).pdf", None),
        ("empty.txt", EMPTY),
    ]


def test_what_systems_leave_beside_files_is_no_document(pack: Pack) -> None:
    noise = ("__MACOSX/a.pdf", ".DS_Store", "x/Thumbs.db", "x/desktop.ini", "x/._a.pdf", "~$a.docx")
    path = pack(*((name, b"x") for name in noise), ("a.pdf", b"1"))

    assert found(path) == {"a.pdf": b"1"}


def test_an_archive_without_files_is_refused(pack: Pack) -> None:
    with pytest.raises(CorruptError, match="no file"):
        taken(pack((".DS_Store", b"x")))


def test_names_that_lead_elsewhere_lead_nowhere(pack: Pack) -> None:
    names = (
        "../../etc/passwd",
        "/etc/passwd",
        "C:\\Windows\\a.pdf",
        "a/./b/../c.pdf",
        "..",
        "x\u202efdp.exe",
    )

    assert list(found(pack(*((name, b"x") for name in names)))) == [
        "etc/passwd",
        "etc/passwd (2)",
        "Windows/a.pdf",
        "a/b/c.pdf",
        "document",
        "xfdp.exe",
    ]


def test_names_are_shortened_and_keep_their_endings(pack: Pack) -> None:
    (first, second) = found(pack(("x" * 5000 + ".pdf", b"1"), ("y" * 200 + "/" + "z" * 400, b"2")))

    assert first.endswith("….pdf")
    assert len(first) <= 180
    assert len(second) <= 500


def test_a_file_is_never_a_folder_as_well(pack: Pack) -> None:
    assert list(found(pack(("a.zip", b"1"), ("a.zip/b.pdf", b"2"), ("c/d", b"3"), ("C", b"4")))) == [
        "a.zip",
        "a.zip_b.pdf",
        "c/d",
        "C (2)",
    ]


def test_names_are_read_in_the_encoding_they_were_meant_in(pack: Pack) -> None:
    plain = zipfile.ZipInfo("Rechnung Müller.pdf")
    path = pack((plain, b"1"), ("gr\u00fc\u00dfe.pdf", b"2"))
    raw = path.read_bytes().replace("gr\u00fc\u00dfe".encode(), "gr\u00fc\u00dfe".encode())
    path.write_bytes(raw.replace(b"\x14\x00\x00\x08", b"\x14\x00\x00\x00"))  # the mark of UTF-8 is lost

    assert list(found(path)) == ["Rechnung Müller.pdf", "gr\u00fc\u00dfe.pdf"]


def test_names_of_old_programs_are_read_too(tmp_path: Path) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("gr?n.pdf", b"1")
    path = tmp_path / "old.zip"
    path.write_bytes(content.getvalue().replace(b"gr?n", b"gr\x81n"))

    assert list(found(path)) == ["grün.pdf"]


def test_links_are_not_followed(pack: Pack) -> None:
    link = zipfile.ZipInfo("passwords.txt")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16

    assert found(pack((link, b"/etc/passwd"), ("a.pdf", b"1"))) == {"passwords.txt": LINK, "a.pdf": b"1"}


def _encrypted(path: Path, *names: bytes) -> None:
    """Say of members that they are encrypted: bit 0 of the flags, in both places."""
    data = bytearray(path.read_bytes())
    for name in names:
        for signature, flags, start in ((b"PK\x03\x04", 6, 30), (b"PK\x01\x02", 8, 46)):
            at = data.find(signature)
            while at >= 0:
                if data.startswith(name, at + start):
                    data[at + flags] |= 1
                at = data.find(signature, at + 1)
    path.write_bytes(bytes(data))


def test_a_member_with_a_password_says_so_and_the_others_are_read(pack: Pack) -> None:
    path = pack(("secret.pdf", b"1"), ("open.pdf", b"2"))
    _encrypted(path, b"secret.pdf")

    assert found(path) == {"secret.pdf": ENCRYPTED, "open.pdf": b"2"}


def test_an_archive_all_of_which_needs_a_password_is_refused_as_such(pack: Pack) -> None:
    path = pack(("secret.pdf", b"1"))
    _encrypted(path, b"secret.pdf")

    with pytest.raises(EncryptedError, match="password"):
        taken(path)


def test_a_packing_that_is_unknown_is_named(pack: Pack) -> None:
    path = pack(("a.pdf", b"1" * 100), ("b.pdf", b"2"))
    data = bytearray(path.read_bytes())
    data[8] = 9
    data[data.find(b"PK\x01\x02") + 10] = 9
    path.write_bytes(bytes(data))

    assert found(path) == {"a.pdf": UNKNOWN_PACKING, "b.pdf": b"2"}


def test_a_damaged_member_does_not_cost_the_others(pack: Pack) -> None:
    path = pack(("a.pdf", b"first content"), ("b.pdf", b"second"), how=zipfile.ZIP_STORED)
    path.write_bytes(path.read_bytes().replace(b"first content", b"fault content"))

    damaged, whole = found(path).values()

    assert isinstance(damaged, str)
    assert "damaged" in damaged
    assert whole == b"second"


@pytest.mark.parametrize("kept", [10, 40, 90])
def test_a_cut_archive_is_refused_as_damaged(pack: Pack, kept: int) -> None:
    path = pack(("a.pdf", b"content" * 10))
    path.write_bytes(path.read_bytes()[:kept])

    with pytest.raises(CorruptError, match=DAMAGED.split(";")[0]):
        taken(path)


def test_an_archive_whose_list_is_damaged_is_refused(pack: Pack) -> None:
    path = pack(("a.pdf", b"content"))
    path.write_bytes(path.read_bytes().replace(b"PK\x01\x02", b"PK\x09\x09"))

    with pytest.raises(CorruptError, match="damaged"):
        taken(path)


def test_too_many_files_are_refused(pack: Pack) -> None:
    path = pack(*((f"{number}.txt", b"x") for number in range(11)))

    with pytest.raises(TooLargeError, match="11 files, more than 10"):
        taken(path, ReadingOptions(max_parts=10))


def test_a_list_of_files_that_takes_too_long_is_not_read(pack: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    path = pack(("a.pdf", b"x"))
    monkeypatch.setattr(containers, "_MAX_DIRECTORY_BYTES", 20)

    with pytest.raises(TooLargeError, match="too many files"):
        taken(path)


def test_the_size_in_the_64_bit_end_of_an_archive_counts(pack: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 1)
    path = pack(("a.pdf", b"1"), ("b.pdf", b"2"))
    assert b"PK\x06\x06" in path.read_bytes()

    assert found(path) == {"a.pdf": b"1", "b.pdf": b"2"}
    monkeypatch.setattr(containers, "_MAX_DIRECTORY_BYTES", 20)
    with pytest.raises(TooLargeError, match="too many files"):
        taken(path)


def test_a_file_that_is_too_large_is_named_and_not_taken(pack: Pack) -> None:
    path = pack(("big.pdf", b"x" * 2000), ("a.pdf", b"1"))

    big, small = found(path, ReadingOptions(max_part_bytes=1000)).values()

    assert isinstance(big, str)
    assert "larger than" in big
    assert small == b"1"


def test_a_bomb_is_not_lit(pack: Pack) -> None:
    path = pack(("bomb.txt", bytes(11_000_000)), ("a.pdf", b"1"))

    bomb, small = found(path).values()

    assert bomb == "it unpacks to more than 200 times its size: a trap"
    assert small == b"1"


def test_a_size_that_is_a_lie_gains_nothing(pack: Pack) -> None:
    path = pack(("a.txt", b"x" * 5000))
    data = path.read_bytes()
    path.write_bytes(data.replace((5000).to_bytes(4, "little"), (10).to_bytes(4, "little")))

    (problem,) = found(path, ReadingOptions(max_part_bytes=1000)).values()

    assert isinstance(problem, str)
    assert "damaged" in problem


def test_all_files_together_have_a_limit(pack: Pack) -> None:
    path = pack(("a", b"x" * 60), ("b", b"x" * 60), ("c", b"x" * 40), ("d", b"x"))

    parts, contents, is_last = taken(path, room=100)

    assert [part.problem for part in parts] == [None, TOO_MUCH, None, TOO_MUCH]
    assert [len(content or b"") for content in contents] == [60, 0, 40, 0]
    assert is_last


def test_large_archives_come_out_in_several_tasks(pack: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containers, "TASK_BYTES", 100)
    path = pack(*((f"{number}", b"x" * 60) for number in range(5)))

    first, second, third = taken(path), taken(path, first=2), taken(path, first=4)

    assert [len(share.parts) for share in (first, second, third)] == [2, 2, 1]
    assert [share.is_last for share in (first, second, third)] == [False, False, True]


def test_an_archive_is_no_pdf_because_it_begins_with_one(pack: Pack) -> None:
    path = pack(("a.pdf", b"%PDF-1.7 and so on"), how=zipfile.ZIP_STORED)

    assert file_types.media_type(path) == "application/zip"
