from pathlib import Path

import pytest

from docmill.errors import CorruptError, EncryptedError
from docmill.reading import holding, msg
from docmill.reading.flow import typeset
from docmill.reading.options import ReadingOptions

OPTIONS = ReadingOptions()
DATA = Path(__file__).parents[2].parent / "shared" / "data" / "mail"

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the shared data are not here")


def text_of(name: str) -> str:
    return "\n".join(page.text for page in typeset(msg.read(DATA / name, OPTIONS)))


@needs_data
def test_a_message_and_what_it_encloses_are_read() -> None:
    text = text_of("fake-email-attachment.msg")
    with msg.enclosed(DATA / "fake-email-attachment.msg", OPTIONS) as held:
        taken = holding.take(held, 0, 10**9, OPTIONS)

    assert "Attachments: fake-attachment.txt" in text
    assert "Subject: Fake email with attachment" in text
    assert [len(content or b"") for content in taken.contents] == [30]


@needs_data
def test_an_encrypted_message_is_refused_with_advice() -> None:
    with pytest.raises(EncryptedError, match="PGP"):
        msg.read(DATA / "fake-encrypted.msg", OPTIONS)


def test_a_damaged_message_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.msg"
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))

    with pytest.raises(CorruptError, match="damaged"):
        msg.read(path, OPTIONS)
