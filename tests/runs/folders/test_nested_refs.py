"""References to documents, and what a state store keeps of them."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.model.document import Part
from docmill.ports import Ref
from docmill.runs.folders.nested_refs import (
    container_of,
    containers_of,
    part_of,
    part_ref,
    ref_of,
    stored_document,
)
from docmill.runs.states import DocumentState

NAMES = st.binary(min_size=1, max_size=12).map(os.fsdecode) | st.text(min_size=1, max_size=12)


def kept(ref: Ref) -> Ref:
    """The reference after a store has kept it."""
    document = stored_document(ref)
    document.path.encode()
    document.name.encode()
    return ref_of(
        DocumentState(document.path, document.name, metadata=document.metadata, version=document.version)
    )


@given(NAMES, NAMES)
def test_a_name_of_any_bytes_comes_back(key: str, name: str) -> None:
    ref = Ref(key, name, {"more": 1}, "2")

    back = kept(ref)

    assert (back.key, back.name, back.metadata, back.version) == (key, name, {"more": 1}, "2")


@given(NAMES, NAMES)
def test_no_two_names_are_kept_as_one(one: str, other: str) -> None:
    paths = {stored_document(Ref(name, name)).path for name in (one, other)}

    assert len(paths) == len({one, other})


@pytest.mark.parametrize("name", [os.fsdecode(b"a\xff.txt"), "a\\udcff.txt", "ä\\x41.txt"])
def test_names_that_look_alike_are_kept_apart(name: str) -> None:
    others = {os.fsdecode(b"a\xff.txt"), "a\\udcff.txt", "ä\\x41.txt", "äA.txt"} - {name}

    assert stored_document(Ref(name, name)).path not in {stored_document(Ref(n, n)).path for n in others}


def test_a_part_names_all_that_hold_it() -> None:
    mail = Ref("in/mail.eml", "mail.eml")
    archive = kept(
        part_ref(mail, Part("all.zip", "attachment"), media_type="message/rfc822", content_hash="1")
    )
    inner = kept(part_ref(archive, Part("x/b.pdf", "member"), media_type="application/zip", content_hash="2"))

    assert (inner.key, inner.name, inner.version) == ("in/mail.eml/all.zip/x/b.pdf", "b.pdf", "2")
    assert [each.key for each in containers_of(inner)] == ["in/mail.eml/all.zip", "in/mail.eml"]
    assert part_of(inner) == Part("x/b.pdf", "member")
    assert container_of(mail) is None
