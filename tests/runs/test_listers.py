"""Listers: which documents a run is given."""

from pathlib import Path

import pytest

from docmill.errors import MisconfiguredError
from docmill.runs.components.glob import GlobLister, GlobListerConfig
from docmill.runs.components.manifest import ManifestLister, ManifestListerConfig
from docmill.runs.context import context_of_one

CONTEXT = context_of_one()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.pdf", "b.txt", "deep/er/c.pdf", ".hidden/d.pdf", "deep/.e.pdf", "deep/~$f.pdf"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
    (tmp_path / "folder.pdf").mkdir()
    return tmp_path


def test_a_pattern_names_files_and_no_hidden_ones(folder: Path) -> None:
    refs = list(GlobLister(GlobListerConfig(pattern="**/*.pdf", folder=folder)).list(CONTEXT))

    assert {ref.key for ref in refs} == {str(folder / "a.pdf"), str(folder / "deep/er/c.pdf")}
    assert {ref.name for ref in refs} == {"a.pdf", "c.pdf"}
    assert all(ref.version.startswith(("5-", "13-")) for ref in refs)


def test_a_pattern_that_names_a_hidden_folder_lists_it(folder: Path) -> None:
    refs = GlobLister(str(folder / ".hidden" / "*.pdf")).list(CONTEXT)
    assert [ref.name for ref in refs] == ["d.pdf"]


@pytest.mark.parametrize(("pattern", "root"), [("*.pdf", "nowhere"), ("", "."), ("**a/b", ".")])
def test_a_pattern_that_cannot_be_used_is_an_error(folder: Path, pattern: str, root: str) -> None:
    lister = GlobLister(GlobListerConfig(pattern=pattern, folder=folder / root))
    with pytest.raises(MisconfiguredError):
        list(lister.list(CONTEXT))


def test_a_manifest_of_csv_names_documents_with_what_is_known_of_them(folder: Path) -> None:
    manifest = folder / "manifest.csv"
    manifest.write_text(
        '\ufeffpath,name,customer\na.pdf,"Bill, first",4711\n\nhttps://example.com/x/y.pdf,,7\n', "utf-8"
    )

    first, second = ManifestLister(manifest).list(CONTEXT)

    assert (first.key, first.name, first.metadata) == (
        str(folder / "a.pdf"),
        "Bill, first",
        {"customer": "4711"},
    )
    assert first.version.startswith("5-")
    assert (second.key, second.name, second.version) == ("https://example.com/x/y.pdf", "y.pdf", "")


def test_a_manifest_of_json_lines_keeps_the_types_of_metadata(folder: Path) -> None:
    manifest = folder / "manifest.jsonl"
    manifest.write_text('{"path": "deep/er/c.pdf", "metadata": {"year": 2024}, "paid": true}\n')

    (ref,) = ManifestLister(str(manifest)).list(CONTEXT)

    assert (ref.name, ref.metadata) == ("c.pdf", {"paid": True, "year": 2024})


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("m.csv", "file\na.pdf\n", "line 1: the first row must name the columns"),
        ("m.csv", "path,path\na.pdf,b\n", "line 1: two columns"),
        ("m.csv", "path,name\na.pdf,A\nb.txt\n", "line 3: it has 1 cells, not 2"),
        ("m.csv", "path,name\n,A\n", "line 2: it has no `path`"),
        ("m.csv", 'path,name\na.pdf,"A\n', "line 2: it is no CSV"),
        ("m.csv", "", "line 1"),
        ("m.jsonl", '{"path": "a.pdf"}\n{"path"\n', "line 2: it is no JSON"),
        ("m.jsonl", "[]\n", "line 1: it is no JSON object"),
        ("m.jsonl", '{"path": 1}\n', "line 1: it has no `path`"),
        ("m.jsonl", '{"path": "a\\u0000"}\n', "line 1: its `path` has a null"),
        ("m.jsonl", '{"path": "a", "name": 1}\n', "line 1: its `name` is no text"),
        ("m.jsonl", '{"path": "a", "metadata": 1}\n', "line 1: its `metadata` is no JSON object"),
        ("m.json", "", "say its form"),
    ],
)
def test_a_bad_row_is_named_by_its_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(MisconfiguredError, match=message):
        list(ManifestLister(tmp_path / name).list(CONTEXT))


def test_a_manifest_that_is_gone_or_no_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_bytes(b"path\n\xff\n")
    with pytest.raises(MisconfiguredError, match="UTF-8"):
        list(ManifestLister(tmp_path / "m.csv").list(CONTEXT))
    with pytest.raises(MisconfiguredError, match="there is no manifest"):
        list(ManifestLister(tmp_path / "other.csv").list(CONTEXT))
    (tmp_path / "m.csv").write_text("path\n")
    with pytest.raises(MisconfiguredError, match="one character"):
        list(ManifestLister(ManifestListerConfig(path=tmp_path / "m.csv", delimiter=";;")).list(CONTEXT))
