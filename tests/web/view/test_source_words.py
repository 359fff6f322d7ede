"""Labels of the settings of sources, and the order of their forms."""

import pytest

from docmill.service.sources.registry import KINDS
from docmill.web.view import source_form
from docmill.web.view.settings_form import faults_of
from docmill.web.view.source_words import english_label, source_texts


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("oauth2", "OAuth 2"),
        ("ca_certificates", "CA certificates"),
        ("api_address", "API address"),
        ("access_key_id", "Access key ID"),
        ("spf_or_dkim", "SPF or DKIM"),
        ("starttls", "STARTTLS"),
        ("move_to", "Move to"),
        ("fetch_limit_s", "Fetch limit (s)"),
    ],
)
def test_labels_write_acronyms_as_people_do(name: str, label: str) -> None:
    assert english_label(name) == label


def names(placed: list[source_form.PlacedField]) -> list[str]:
    return [each.field.leaf.name for each in placed]


def test_a_form_begins_with_the_sign_in_and_keeps_rare_settings_apart() -> None:
    form = source_form.arrange(KINDS["imap"], {}, {}, ())

    assert names(form.shown)[:5] == ["host", "user", "sign_in", "password", "folders"]
    assert "ca_certificates" in names(form.more)
    assert list(form.groups) == ["limits"]
    assert not form.has_open_more


@pytest.mark.parametrize(
    ("values", "faults", "secrets_set"),
    [
        ({"port": 1143}, {}, ()),
        ({"limits": {"file_mb": 5}}, {}, ()),
        ({}, {"client_id": "OAuth 2 needs the ID of a registered application"}, ()),
        ({}, {}, ("refresh_token",)),
    ],
)
def test_rare_settings_that_are_set_or_wrong_are_not_hidden(
    values: dict[str, object], faults: dict[str, str], secrets_set: tuple[str, ...]
) -> None:
    assert source_form.arrange(KINDS["imap"], values, faults, secrets_set).has_open_more


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_no_kind_hides_a_setting_that_is_needed(kind: str) -> None:
    form = source_form.arrange(KINDS[kind], {}, {}, ())

    assert all(each.field.leaf.has_default for each in form.more)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("imap", {"user": "a", "host": "a", "sign_in": "google"}),
        ("bucket", {"bucket": "incoming", "after": "move"}),
        ("smtp", {"address_token": "a2b3c4d5e6", "senders": ["a b"]}),
    ],
)
def test_faults_of_settings_are_in_the_catalogues_as_forms_show_them(
    kind: str, settings: dict[str, object]
) -> None:
    (fault,) = faults_of(KINDS[kind].settings, settings).values()

    assert fault in set(source_texts())


def test_messages_that_name_no_value_are_in_the_catalogues() -> None:
    assert {
        "the file is empty",
        "the sender is not among those that the source takes mails from",
        "the mailbox has no password; enter it",
    } <= set(source_texts())
