"""SPF (RFC 7208) and look-ups of DNS, with the name servers of the settings."""

import time
from collections.abc import Sequence
from typing import Any, Literal

import dns.exception
import dns.nameserver
import dns.resolver
import spf

_LIMIT_S = 20.0
"""RFC 7208, 4.6.4: at least 20 seconds for all look-ups of a mail together."""
_MOST_VOID = 2
_LONGEST_LABEL = 63

CheckResult = Literal["pass", "fail", "softfail", "neutral", "none", "temperror", "permerror"]


class Dns:
    """Looks up records, without a cache. servers: instead of those of this machine."""

    def __init__(self, servers: Sequence[str] = ()) -> None:
        self._resolver = dns.resolver.Resolver(configure=not servers)
        if servers:
            self._resolver.nameservers = [_name_server(server) for server in servers]

    def records(self, name: str, kind: str, *, limit_s: float) -> list[Any]:
        """The records of a name; none if there are none, or no such name.

        Raises DNSException if nobody answers.
        """
        try:
            return list(self._resolver.resolve(name, kind, lifetime=limit_s, search=False))
        except (dns.resolver.NoAnswer, dns.resolver.NXDOMAIN):
            return []

    def text(self, name: str) -> bytes | None:
        """The text record of a name. Raises DNSException if nobody answers."""
        records = self.records(name, "TXT", limit_s=_LIMIT_S)
        return b"".join(records[0].strings) if records else None


def _name_server(server: str) -> dns.nameserver.Do53Nameserver:
    address, _, port = server.partition(":") if server.count(":") == 1 else (server, "", "")
    return dns.nameserver.Do53Nameserver(address, int(port or 53))


class _Query(spf.query):
    """A check whose look-ups go to our name servers."""

    def __init__(self, resolver: Dns, *, client: str, sender: str, greeting: str) -> None:
        super().__init__(i=client, s=sender, h=greeting)  # pyright: ignore[reportUnknownMemberType]
        self._resolver = resolver
        self._records: dict[tuple[str, str], list[Any]] = {}
        self._ends_at = time.monotonic() + _LIMIT_S

    def dns(self, name: Any, qtype: str, cnames: object = None, ignore_void: bool = False) -> list[Any]:  # noqa: ANN401, FBT001, FBT002  the library's
        """The records of a name, in the form of the library."""
        del cnames  # the resolver follows them
        name = str(name).rstrip(".").lower()
        if not all(0 < len(label) <= _LONGEST_LABEL for label in name.split(".")):
            return []
        key = name, qtype
        if key not in self._records:
            self._records[key] = self._look_up(name, qtype)
            if not self._records[key] and not ignore_void:
                self.void_lookups += 1
                if self.void_lookups > _MOST_VOID:
                    raise spf.PermError(f"more than {_MOST_VOID} look-ups without a record")
        return self._records[key]

    def _look_up(self, name: str, qtype: str) -> list[Any]:
        left_s = self._ends_at - time.monotonic()
        if left_s <= 0:
            raise spf.TempError("the look-ups take too long")
        try:
            records = self._resolver.records(name, qtype, limit_s=left_s)
        except dns.exception.DNSException as error:
            raise spf.TempError(type(error).__name__) from error
        match qtype:
            case "A" | "AAAA":
                return [record.address for record in records]
            case "MX":
                return [(record.preference, record.exchange.to_text(True)) for record in records]
            case "PTR":
                return [record.target.to_text(True) for record in records]
            case _:
                return [record.strings for record in records]


def check_policy(resolver: Dns, *, client: str, sender: str, greeting: str) -> CheckResult:
    """Check whether a client may send mails of the sender's domain. Takes up to 20 seconds: in a thread.

    sender: of the envelope; that of a mail without one is its client's name, the greeting.
    """
    try:
        query: Any = _Query(resolver, client=client, sender=sender, greeting=greeting)
        return query.check()[0]
    except spf.TempError:
        return "temperror"
    except (spf.PermError, ValueError, IndexError, UnicodeError):  # also faults of the library
        return "permerror"
