"""Finding out whether the sender of a mail is genuine: SPF and DKIM, by us or by a relay that is trusted."""

import asyncio
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from email.parser import BytesHeaderParser
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docmill.errors import DocmillError, MisconfiguredError
from docmill.service.config.receiver_settings import SmtpReceiver
from docmill.service.sources.smtp.signature_check import load_verifier, signatures, verified
from docmill.workers.pool import Pool

if TYPE_CHECKING:
    from docmill.service.sources.smtp.sender_policy import CheckResult, Dns

_THREADS = 16
"""They wait for DNS."""
_VERIFY_S = 30.0


@dataclass(frozen=True, slots=True)
class Peer:
    """The client of a session. greeting: its name, as it says."""

    address: str
    greeting: str


@dataclass(frozen=True, slots=True)
class SenderResult:
    """Results of SPF and DKIM. is_genuine: one of them passes, for the domain of the field From."""

    spf: "CheckResult" = "none"
    dkim: "CheckResult" = "none"
    is_genuine: bool = False

    @property
    def may_pass_later(self) -> bool:
        """True if a look-up failed that may work later."""
        return not self.is_genuine and "temperror" in {self.spf, self.dkim}


class SenderChecks:
    """Checks senders as the settings say. pool, resolver: None if nothing is checked here."""

    def __init__(self, receiver: SmtpReceiver, pool: Pool | None, resolver: "Dns | None") -> None:
        self._receiver = receiver
        self._pool = pool
        self._resolver = resolver
        self._threads = ThreadPoolExecutor(_THREADS, "dns")

    def is_trusted_relay(self, address: str) -> bool:
        """True for a mail server whose results are believed."""
        return any(ip_address(address) in network for network in self._receiver.trusted_relays)

    async def check(
        self, peer: Peer, *, envelope_sender: str, from_domain: str, header: bytes, path: Path
    ) -> SenderResult | None:
        """Check the sender of a mail; None where nobody does.

        envelope_sender: empty for a mail without one. from_domain: of the field From. header: of the mail.
        path: of the whole.
        """
        if self.is_trusted_relay(peer.address):
            results = _relay_results(header, self._receiver.authserv_id, from_domain)
            if results is not None:
                return results
            spf: CheckResult = "none"  # of the relay's address it would tell nothing
        elif self._resolver is None:
            return None
        else:
            spf = await self._policy(self._resolver, peer, envelope_sender)
        if self._resolver is None or self._pool is None:
            return None
        dkim, domains = await self._signatures(self._resolver, self._pool, header, path)
        spf_domain = envelope_sender.rpartition("@")[2] or peer.greeting
        is_genuine = (spf == "pass" and are_aligned(spf_domain, from_domain)) or any(
            are_aligned(domain, from_domain) for domain in domains
        )
        return SenderResult(spf, dkim, is_genuine)

    def close(self) -> None:
        """Wait for no look-up any more."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _policy(self, resolver: "Dns", peer: Peer, envelope_sender: str) -> "CheckResult":
        from docmill.service.sources.smtp.sender_policy import check_policy  # noqa: PLC0415  an extra

        return await asyncio.get_running_loop().run_in_executor(
            self._threads,
            lambda: check_policy(
                resolver, client=peer.address, sender=envelope_sender, greeting=peer.greeting
            ),
        )

    async def _signatures(
        self, resolver: "Dns", pool: Pool, header: bytes, path: Path
    ) -> tuple["CheckResult", list[str]]:
        """The result of DKIM, and the domains whose signatures are valid."""
        from dns.exception import DNSException  # noqa: PLC0415  an extra

        loop = asyncio.get_running_loop()
        found = signatures(header)
        if not found:
            return "none", []
        records: dict[str, bytes] = {}
        has_failed = False
        for name in {name for _, name in found if name}:
            try:
                record = await loop.run_in_executor(self._threads, resolver.text, name)
            except (DNSException, UnicodeError):
                has_failed = True
            else:
                records |= {} if record is None else {name: record}
        try:
            valid = await pool.run(verified, path, records, limit_s=_VERIFY_S)
        except DocmillError:
            return "temperror", []
        domains = [domain for (domain, _), is_valid in zip(found, valid, strict=False) if domain and is_valid]
        return ("pass" if domains else "temperror" if has_failed else "fail"), domains


def are_aligned(domain: str, from_domain: str) -> bool:
    """True for equal domains, and for one below the other (RFC 7489, 3.1, without public suffixes)."""
    domain, from_domain = domain.lower(), from_domain.lower()
    if not (domain and from_domain):
        return False
    return (
        domain == from_domain
        or (from_domain.endswith(f".{domain}") and "." in domain)
        or (domain.endswith(f".{from_domain}") and "." in from_domain)
    )


def _relay_results(header: bytes, authserv_id: str | None, from_domain: str) -> SenderResult | None:
    """The results that a relay wrote into the header (RFC 8601); None if it wrote none.

    The relay has removed what somebody else has written there under its name.
    """
    if authserv_id is None:
        return None
    import authres  # noqa: PLC0415  an extra

    library: Any = authres  # it has no types

    found: dict[str, CheckResult] = {}
    domains: list[str] = []
    for value in BytesHeaderParser().parsebytes(header).get_all("Authentication-Results") or []:
        try:
            parsed = library.AuthenticationResultsHeader.parse(
                f"Authentication-Results: {' '.join(str(value).split())}"
            )
        except (library.AuthResError, ValueError, IndexError):
            continue
        if str(parsed.authserv_id).lower() != authserv_id.lower():
            continue
        for result in parsed.results:
            if result.method not in {"spf", "dkim"}:
                continue
            if found.get(result.method) != "pass":
                found[result.method] = result.result
            if result.result == "pass":
                wanted = {"spf": ("smtp", "mailfrom"), "dkim": ("header", "d")}[result.method]
                domains += [
                    str(item.value).rpartition("@")[2]
                    for item in result.properties
                    if (item.type, item.name) == wanted
                ]
    if not found:
        return None
    is_genuine = any(are_aligned(domain, from_domain) for domain in domains)
    return SenderResult(found.get("spf", "none"), found.get("dkim", "none"), is_genuine)


@asynccontextmanager
async def open_sender_checks(receiver: SmtpReceiver) -> AsyncGenerator[SenderChecks]:
    """The checks of the settings. Raises MisconfiguredError if a library for them is missing."""
    needed = ("authres",) if receiver.authserv_id else ()
    needed = (*needed, "dkim", "dns", "spf") if receiver.check_senders else needed
    for name in needed:
        if find_spec(name) is None:
            raise MisconfiguredError(
                f"the settings of smtp_receiver need {name!r}; run: pip install 'docmill[mail]'"
            )
    if not receiver.check_senders:
        yield SenderChecks(receiver, None, None)
        return
    from docmill.service.sources.smtp.sender_policy import Dns  # noqa: PLC0415  an extra

    # A mail may be for several tenants: each is checked by a process of its own.
    async with Pool(1, niceness=5, many_tenants=True, preload=[load_verifier]) as pool:
        with closing(SenderChecks(receiver, pool, Dns(receiver.dns_servers))) as checks:
            yield checks
