"""Credentials of the file store in AWS."""

from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import TYPE_CHECKING, Protocol, cast

from botocore.session import Session

from docmill.service.aws.errors import no_credentials

if TYPE_CHECKING:
    from obstore.store import S3Credential  # exists for type checkers only

_ASKED_AFTER = timedelta(minutes=5)


class _Frozen(Protocol):
    access_key: str
    secret_key: str
    token: str | None


class _Credentials(Protocol):
    def get_frozen_credentials(self) -> _Frozen: ...


class StoreCredentials:
    """Provides credentials from the environment, a profile, or the role of the container or machine.

    The store calls it in a thread of its own, where waiting for AWS holds nobody up. It cannot be a coroutine
    function: the store also asks from tasks that know no event loop.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._found: _Credentials | None = None

    def __call__(self) -> "S3Credential":
        """Valid credentials; they renew themselves and are asked for again in five minutes."""
        with self._lock:
            if self._found is None:
                self._found = cast("_Credentials | None", Session().get_credentials())
            if self._found is None:
                raise no_credentials()
            frozen = self._found.get_frozen_credentials()
        return {
            "access_key_id": frozen.access_key,
            "secret_access_key": frozen.secret_key,
            "token": frozen.token,
            "expires_at": datetime.now(UTC) + _ASKED_AFTER,
        }
