"""Tokens of forms and API keys."""

from hypothesis import given
from hypothesis import strategies as st

from docmill.service.people.tokens import (
    form_token,
    hash_token,
    is_form_token,
    key_prefix,
    new_key,
    new_token,
)


def test_a_form_token_is_another_one_each_time_and_holds_for_its_session_alone() -> None:
    mine, other = new_token(), new_token()
    first, second = form_token(mine), form_token(mine)

    assert first != second
    assert is_form_token(first, mine)
    assert is_form_token(second, mine)
    assert not is_form_token(first, other)
    assert not is_form_token(first[:-1], mine)


@given(st.text(max_size=200))
def test_a_made_up_form_token_is_refused(text: str) -> None:
    assert not is_form_token(text, "the token of a session")


def test_a_key_is_known_by_its_beginning_and_stored_as_a_hash() -> None:
    key = new_key()

    assert key.startswith(key_prefix(key))
    assert len(key_prefix(key)) < len(key) / 4
    assert key.encode() not in hash_token(key)
