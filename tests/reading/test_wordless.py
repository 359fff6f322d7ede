from pathlib import Path

import docx
import pytest

from docmill.errors import CorruptError
from docmill.reading import tasks
from docmill.reading.options import ReadingOptions


def test_a_document_without_a_word_is_not_said_to_be_read(tmp_path: Path) -> None:
    path = tmp_path / "picture.docx"
    docx.Document().save(str(path))
    media_type = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

    with pytest.raises(CorruptError, match="save it as a PDF"):
        tasks.read_flow(path, media_type, ReadingOptions())
