from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from docmill.errors import UnauthorizedError
from docmill.service.aws.client import StoreCredentials


@pytest.mark.usefixtures("aws_credentials")
def test_credentials_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "for a while")
    credentials = StoreCredentials()

    found = credentials()

    assert (found["access_key_id"], found["secret_access_key"]) == ("test", "test")
    assert found.get("token") == "for a while"
    assert found["expires_at"] is not None
    assert found["expires_at"] <= datetime.now(UTC) + timedelta(minutes=5)
    assert credentials()["access_key_id"] == "test"


@pytest.mark.usefixtures("aws_credentials")
def test_credentials_come_from_a_profile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    file = tmp_path / "credentials"
    file.write_text("[mine]\naws_access_key_id = me\naws_secret_access_key = secret\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    monkeypatch.setenv("AWS_PROFILE", "mine")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(file))

    assert StoreCredentials()()["access_key_id"] == "me"


@pytest.mark.usefixtures("aws_credentials")
def test_without_credentials_a_person_must_act(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")

    with pytest.raises(UnauthorizedError, match="AWS_PROFILE"):
        StoreCredentials()()
