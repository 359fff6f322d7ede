"""Errors of a Redis server in a person's words."""

import ssl

from redis import exceptions

from docmill.errors import MisconfiguredError, ServerError, UnauthorizedError

_REFUSED = (exceptions.AuthenticationError, exceptions.AuthorizationError, exceptions.NoPermissionError)
_WRONG_TLS = (ssl.SSLCertVerificationError, FileNotFoundError, PermissionError)
_OF_CLUSTERS = (exceptions.AskError, exceptions.ClusterDownError)
_PASSING = (
    exceptions.ConnectionError,
    exceptions.TimeoutError,
    exceptions.ReadOnlyError,
    exceptions.MasterDownError,
    exceptions.TryAgainError,
    exceptions.ClusterDownError,
    exceptions.RedisClusterException,
)


def is_passing(error: Exception) -> bool:
    """Whether the error may be gone soon, as when the server is started again."""
    is_lasting = isinstance(error, _REFUSED) or isinstance(_cause(error), _WRONG_TLS)
    return isinstance(error, _PASSING) and not is_lasting


def translate(error: Exception, place: str, *, is_cluster: bool) -> Exception:
    """The error for callers; the same one if it is a fault of docmill.

    It does not have the words of the server, which may quote what the server was given. place: the host and
    port. is_cluster: whether the address says so.
    """
    cause = _cause(error)
    result = error
    if isinstance(error, _REFUSED):
        result = UnauthorizedError(
            f"the Redis server at {place} refuses the user, the password or a command; see its ACL"
        )
    elif isinstance(error, exceptions.OutOfMemoryError):
        result = ServerError(f"the Redis server at {place} is out of memory; give it more, or remove runs")
    elif isinstance(error, _OF_CLUSTERS) and not is_cluster:
        result = MisconfiguredError(
            f"the Redis server at {place} is one of a cluster; add cluster=true to its address"
        )
    elif str(error).partition(" ")[0] == "WRONGTYPE":  # the code of the protocol, which has no class
        result = MisconfiguredError(
            f"the Redis server at {place} has keys of another program that begin with docmill:runs; "
            "give another database"
        )
    elif isinstance(cause, ssl.SSLCertVerificationError):
        result = MisconfiguredError(
            f"the certificate of the Redis server at {place} is not trusted ({cause.verify_message}); "
            "name the file of its authority as ssl_ca_certs"
        )
    elif isinstance(cause, _WRONG_TLS):
        result = MisconfiguredError(
            f"a file with certificates, named in the address of the Redis server at {place}, cannot be read"
        )
    elif isinstance(error, _PASSING):
        reason = getattr(cause, "strerror", None) or "it does not answer"
        result = ServerError(f"cannot reach the Redis server at {place}: {reason}")
    return result


def _cause(error: BaseException | None) -> OSError | None:
    """The error of the operating system or of TLS from which an error of the library was made."""
    while error is not None and not isinstance(error, OSError):
        error = error.__cause__ or error.__context__
    return error
