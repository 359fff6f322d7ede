import pytest

from docmill.errors import MisconfiguredError
from docmill.reading.files.options import ReadingOptions
from docmill.reading.ocr.page import local_engine


def test_a_name_that_no_engine_has_is_an_error_that_lists_them() -> None:
    with pytest.raises(MisconfiguredError, match=r"no engine 'abby' .* rapidocr"):
        local_engine("abby", ReadingOptions())
