import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from docmill.errors import CorruptError, EncryptedError, TooLargeError
from docmill.reading.formats import package
from docmill.reading.formats.package import Package

MakeZip = Callable[[Mapping[str, str]], Path]
LAUGHS = (
    "<!DOCTYPE a [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;'><!ENTITY c SYSTEM 'file:///etc/hostname'>]>"
    "<a>&b;&c;<b>kept</b></a>"
)


def test_entities_are_neither_unfolded_nor_fetched(make_zip: MakeZip) -> None:
    with Package.open(make_zip({"a.xml": LAUGHS})) as opened:
        root = opened.xml("a.xml")

    assert "".join(root.itertext("b")) == "kept"
    assert root.text is None


def test_elements_come_one_by_one(make_zip: MakeZip) -> None:
    with Package.open(make_zip({"a.xml": "<a xmlns='x'><b>1</b><c/><b>2</b></a>"})) as opened:
        assert [element.text for element in opened.elements("a.xml", "b")] == ["1", "2"]


def test_elements_before_the_damage_are_given(make_zip: MakeZip) -> None:
    with Package.open(make_zip({"a.xml": "<a><b>1</b><b>"})) as opened:
        elements = opened.elements("a.xml", "b")

        assert next(elements).text == "1"
        with pytest.raises(CorruptError):
            next(elements)


@pytest.mark.parametrize("limit", ["MAX_XML_BYTES", "MAX_TOTAL_BYTES"])
def test_a_bomb_is_left_unpacked(make_zip: MakeZip, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(package, limit, 1000)
    path = make_zip({"a.xml": "<a>" + " " * 100_000 + "</a>"})

    with Package.open(path) as opened, pytest.raises(TooLargeError, match="unpacks to more"):
        opened.xml("a.xml")


def test_too_many_parts_are_refused(make_zip: MakeZip, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "MAX_MEMBERS", 1)

    with pytest.raises(TooLargeError, match="2 parts"), Package.open(make_zip({"a": "", "b": ""})):
        pass


def test_a_part_with_a_password_asks_for_none(make_zip: MakeZip) -> None:
    path = make_zip({"a.xml": "<a/>"})
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)

    with Package.open(path) as opened, pytest.raises(EncryptedError, match="without one"):
        opened.xml("a.xml")


def test_no_archive_is_corrupt(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"PK\x03\x04 cut off")

    with pytest.raises(CorruptError), Package.open(tmp_path / "a"):
        pass


def test_a_damaged_member_is_corrupt_and_one_can_do_without_it(make_zip: MakeZip) -> None:
    path = make_zip({"a.xml": "<a>" + "text " * 1000 + "</a>"})
    data = bytearray(path.read_bytes())
    data[40:50] = b"\xff" * 10
    path.write_bytes(data)

    with Package.open(path) as opened:
        assert opened.optional("a.xml") is None
        assert opened.optional("absent.xml") is None
        with pytest.raises(CorruptError, match="damaged"):
            opened.xml("a.xml")
        with pytest.raises(CorruptError, match="missing"):
            opened.xml("absent.xml")


def test_deep_nesting_is_corrupt(make_zip: MakeZip) -> None:
    path = make_zip({"a.xml": "<a>" * 10_000 + "</a>" * 10_000})

    with Package.open(path) as opened, pytest.raises(CorruptError):
        opened.xml("a.xml")


def test_relations_lead_to_other_parts_but_not_outside(make_zip: MakeZip) -> None:
    relations = (
        "<r><a Id='1' Type='x/styles' Target='styles.xml'/><a Id='2' Type='x/image' Target='/media/b.png'/>"
        "<a Id='3' Type='x/link' Target='http://example.com' TargetMode='External'/></r>"
    )
    path = make_zip({"word/_rels/document.xml.rels": relations})

    with Package.open(path) as opened:
        found = opened.relations("word/document.xml")

    assert found == {"1": ("styles", "word/styles.xml"), "2": ("image", "media/b.png")}
    assert zipfile.is_zipfile(path)
