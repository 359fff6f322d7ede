"""A name server with a few records, by UDP."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import cast

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset

Records = Mapping[tuple[str, str], Sequence[str]]
"""Values by name and type, as they stand in a zone. A name with the type `FAIL` fails."""


class _Answers(asyncio.DatagramProtocol):
    def __init__(self, records: Records) -> None:
        self._records = records
        self.asked: list[tuple[str, str]] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        query = dns.message.from_wire(data)
        (question,) = query.question
        name = question.name.to_text(omit_final_dot=True).lower()
        kind = dns.rdatatype.to_text(question.rdtype)
        self.asked.append((name, kind))
        answer = dns.message.make_response(query)
        answer.flags |= dns.flags.RA
        if (name, "FAIL") in self._records:
            answer.set_rcode(dns.rcode.SERVFAIL)
        elif values := self._records.get((name, kind)):
            answer.answer.append(dns.rrset.from_text_list(question.name, 60, "IN", kind, values))
        elif not any(known == name for known, _ in self._records):
            answer.set_rcode(dns.rcode.NXDOMAIN)
        self._transport.sendto(answer.to_wire(), addr)


@asynccontextmanager
async def dns_server(records: Records) -> AsyncGenerator[str]:
    """The address of a name server that runs during the block; records may be changed meanwhile."""
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(lambda: _Answers(records), ("127.0.0.1", 0))
    try:
        yield "127.0.0.1:{}".format(transport.get_extra_info("sockname")[1])
    finally:
        transport.close()
