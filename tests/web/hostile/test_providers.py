"""Attacks on the sign-in through an OpenID provider: forged tokens, and accounts made in advance."""

import base64
import hmac
import time
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

from docmill.service.config.web import Oidc
from docmill.service.people.accounts import LinkIsOverError, NewPerson
from docmill.service.people.openid import Identity, OpenIdProvider
from docmill.service.people.sign_in import SignInRefusedError, Visitor
from support.attacked_vault import AttackedVault
from support.people import PASSWORD

ISSUER = "https://login.example.org"
KEY = RSAKey.generate_key(2048, {"kid": "one"})
OTHER_KEY = RSAKey.generate_key(2048, {"kid": "one"})
NONCE = "n-1"


def claims(**changes: object) -> dict[str, Any]:
    proper = {
        "iss": ISSUER,
        "aud": "docmill",
        "sub": "a1",
        "exp": int(time.time()) + 60,
        "nonce": NONCE,
        "email": "anna@example.org",
        "email_verified": True,
    }
    return {key: value for key, value in {**proper, **changes}.items() if value is not None}


def identity(token: str) -> Identity:
    provider = OpenIdProvider(Oidc(issuer=ISSUER, client_id="docmill"))
    keys = KeySet([KEY]).as_dict(private=False)
    return provider._identity(token, keys, NONCE)  # pyright: ignore[reportPrivateUsage]


def signed(content: dict[str, Any], key: RSAKey = KEY) -> str:
    return jwt.encode({"alg": "RS256", "kid": "one"}, content, key)


def test_a_proper_token_is_taken() -> None:
    assert identity(signed(claims())).email == "anna@example.org"


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "https://login.evil.example"},
        {"iss": None},
        {"aud": "another client"},
        {"aud": ["another client"]},
        {"aud": None},
        {"exp": int(time.time()) - 3600},
        {"exp": None},
        {"nonce": "of another visit"},
        {"nonce": None},
        {"sub": None},
        {"sub": ""},
    ],
)
def test_a_token_for_others_or_of_before_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(SignInRefusedError):
        identity(signed(claims(**changes)))


def test_a_token_that_the_provider_has_not_signed_is_refused() -> None:
    head, body, _ = signed(claims()).split(".")
    by_public_key = _encoded(b'{"alg":"HS256","kid":"one"}') + f".{body}"
    mac = hmac.digest(KEY.as_pem(private=False), by_public_key.encode(), "sha256")
    forged = [
        signed(claims(), OTHER_KEY),
        f"{by_public_key}.{_encoded(mac)}",
        f"{head}.{body}.",
        _encoded(b'{"alg":"none"}') + f".{body}.",
        "a.b.c",
        "",
        "None",
    ]
    for token in forged:
        with pytest.raises(SignInRefusedError):
            identity(token)


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


@pytest.mark.parametrize("verified", [False, None, "true", 1, "yes"])
def test_an_address_is_verified_only_if_it_says_so(verified: object) -> None:
    assert identity(signed(claims(email_verified=verified))).email is None


@pytest.mark.asyncio(loop_scope="module")
async def test_an_account_that_was_made_with_the_address_of_another_is_lost_to_who_made_it(
    attacked: AttackedVault,
) -> None:
    """An attacker joins with the address of a colleague, who signs in through the provider later."""
    service, tenant_id = attacked.service, attacked.theirs.tenant_id
    token = await service.invitations.invite(
        "viewer", tenant_id=tenant_id, invited_by=attacked.theirs.users["owner"]
    )
    attacker, _ = await service.invitations.accept(
        token, NewPerson("victim@example.org", "V", PASSWORD), None
    )
    session = await service.sign_in.begin_session(attacker, Visitor())
    link = await service.accounts.password_link(attacker)

    user_id = await service.accounts.of_identity(Identity(ISSUER, "v1", "victim@example.org", "Victim"))

    assert user_id == attacker
    assert await service.sign_in.of_session(session.token) is None
    with pytest.raises(SignInRefusedError):
        await service.sign_in.sign_in("victim@example.org", PASSWORD, Visitor("192.0.2.1"))
    with pytest.raises(LinkIsOverError):
        await service.accounts.set_password(link, "another good password")


@pytest.mark.asyncio(loop_scope="module")
async def test_an_address_that_was_given_to_another_opens_no_account(attacked: AttackedVault) -> None:
    accounts = attacked.service.accounts
    first = await accounts.of_identity(Identity(ISSUER, "first", "anna@example.org", "Anna"))

    later = await accounts.of_identity(Identity(ISSUER, "second", "anna@example.org", "Another Anna"))
    again = await accounts.of_identity(Identity(ISSUER, "first", None, "Anna"))

    assert first == attacked.ours.users["owner"] == again
    assert later is None
