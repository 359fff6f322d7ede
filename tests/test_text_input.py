"""The check of texts that come from outside."""

import pytest

from docmill.errors import ValidationError
from docmill.text_input import check_text, check_texts


@pytest.mark.parametrize("text", ["", "plain", "Grüße", "\U0001f4a3", "\ue000\ufffd", "a\tb\n"])
def test_text_of_any_language_is_taken(text: str) -> None:
    check_text(text)


@pytest.mark.parametrize("text", ["\0", "a\0ü", "\ud800", "ü\udfff"])
def test_what_cannot_be_encoded_or_stored_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="cannot be stored"):
        check_text(text)


@pytest.mark.parametrize(
    "value", [{"a": ["\0"]}, {"\ud800": 1}, [[{"b": {"c": "\ud800"}}]], ("x", {"k": "\0"}), "\0"]
)
def test_nested_values_and_keys_are_checked(value: object) -> None:
    with pytest.raises(ValidationError):
        check_texts(value)


def test_other_values_and_deep_ones_are_left_alone() -> None:
    deep: object = [1, None, True, 2.5, b"\0"]
    for _ in range(5000):
        deep = [deep]

    check_texts({"a": deep})
