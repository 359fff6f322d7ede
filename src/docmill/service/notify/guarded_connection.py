"""Connections to hosts that others name, never into a private network unless that is allowed."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from socket import SOCK_STREAM, gaierror
from urllib.parse import SplitResult

from docmill.errors import MisconfiguredError, NetworkError

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Gives the addresses of a host. Raises OSError."""

_NAT64 = ip_network("64:ff9b::/96")
_GLOBAL_UNICAST = ip_network("2000::/3")
"""All addresses of IPv6 that the internet has; `is_global` also holds for site-local and reserved ones."""
_SPECIAL = tuple(map(ip_network, ("3fff::/20", "192.0.0.0/24", "192.88.99.0/24")))
"""Ranges of IANA's registries of special addresses (RFC 6890, 7526 and 9637) that `is_global` lets pass."""


async def resolve_host(host: str, port: int) -> list[str]:
    """The addresses of a host by the system's resolver. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


async def connect(
    parts: SplitResult, what: str, *, allow_private: bool, advice: str, resolve: Resolve = resolve_host
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to the first address of a host that answers, after all have been checked.

    advice: what to do where the address is a private one, which is refused unless `allow_private`. Raises
    MisconfiguredError for such a one, NetworkError if the name has no address, OSError.
    """
    host = parts.hostname or ""
    is_secure = parts.scheme == "https"
    port = parts.port or (443 if is_secure else 80)
    try:
        addresses = await resolve(host, port)
    except gaierror as error:
        raise NetworkError(f"the name of the host of {what} cannot be looked up") from error
    if not allow_private and not all(map(is_public, addresses)):
        raise MisconfiguredError(f"{what} leads into a private network, {advice}")
    context = ssl.create_default_context() if is_secure else None
    failure: OSError = ConnectionError("no address")
    for address in addresses:
        try:
            return await asyncio.open_connection(
                address, port, ssl=context, server_hostname=host if is_secure else None
            )
        except OSError as error:
            failure = error
    raise failure


def is_public(address: str) -> bool:
    """True for an address of the internet, also one that stands in another."""
    try:
        parsed: IPv4Address | IPv6Address = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, IPv6Address):
        inner = parsed.ipv4_mapped or parsed.sixtofour
        if parsed in _NAT64:
            inner = IPv4Address(int(parsed) & 0xFFFFFFFF)
        if inner is not None:
            parsed = inner
        elif parsed.teredo is not None or parsed not in _GLOBAL_UNICAST:
            return False
    if any(parsed in network for network in _SPECIAL):
        return False
    return parsed.is_global and not parsed.is_multicast
