"""The key of the installation, without which the database can sign nothing."""

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pydantic import SecretStr, ValidationError

from docmill.errors import MisconfiguredError
from docmill.service.app import Service
from docmill.service.config.secrets import Secrets
from docmill.service.people.access import machine_access
from docmill.service.signed_addresses import SignedAddresses

FIRST, SECOND = "first key of the installation, long", "second key of the installation, long"
PATH = "/api/v1/documents/1/file"
LATER = 10**11


async def test_who_has_read_the_database_signs_nothing(service: Service) -> None:
    ours = SignedAddresses(service.database, [FIRST.encode()])
    of_the_database = SignedAddresses(service.database)
    tenant_id = service.default_tenant_id

    forged = await _sign(of_the_database, tenant_id)
    proper = await _sign(ours, tenant_id)

    assert await ours.verify(PATH, forged) is None
    assert await ours.verify(PATH, proper) is not None
    assert await of_the_database.verify(PATH, proper) is None


async def test_what_a_previous_key_has_signed_works_on(service: Service) -> None:
    before = SignedAddresses(service.database, [FIRST.encode()])
    after = SignedAddresses(service.database, [SECOND.encode(), FIRST.encode()])
    later = SignedAddresses(service.database, [SECOND.encode()])
    old = await _sign(before, service.default_tenant_id)
    new = await _sign(after, service.default_tenant_id)

    assert await after.verify(PATH, old) is not None
    assert await later.verify(PATH, old) is None
    assert await later.verify(PATH, new) is not None


async def _sign(addresses: SignedAddresses, tenant_id: UUID) -> str:
    (token,) = await addresses.sign([PATH], machine_access(tenant_id), expires_at=LATER)
    return token


def test_the_key_comes_from_a_variable_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{FIRST}\n")

    assert Secrets().keys() == ()
    assert Secrets(key=SecretStr(FIRST)).keys() == (FIRST.encode(),)
    from_file = Secrets(key_file=tmp_path / "key", previous_keys=(SecretStr(SECOND),))
    assert from_file.keys() == (FIRST.encode(), SECOND.encode())
    assert FIRST not in repr(Secrets(key=SecretStr(FIRST)))


@pytest.mark.parametrize(
    "wrong",
    [{"key": "short"}, {"key": FIRST, "key_file": "key"}, {"previous_keys": [FIRST]}],
)
def test_a_key_that_protects_nothing_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Secrets.model_validate(wrong)


def test_a_file_without_a_key_is_named(tmp_path: Path) -> None:
    (tmp_path / "short").write_text("short")

    with pytest.raises(MisconfiguredError, match="cannot be read"):
        Secrets(key_file=tmp_path / "absent").keys()
    with pytest.raises(MisconfiguredError, match="shorter than 32"):
        Secrets(key_file=tmp_path / "short").keys()
