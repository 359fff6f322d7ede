"""An IMAP server of few abilities that fails as told, for what Dovecot cannot be made to do."""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class ScriptedImap:
    """The server. mails: by uid. withheld: uids of mails whose content it refuses.

    vanishing: uids that are found and told of, and gone when they are fetched. refusals: texts of the next
    answers to FETCH. literal_size: what it says that the next mail has. bye: said to the next FETCH.
    """

    mails: dict[int, bytes]
    withheld: set[int] = field(default_factory=set[int])
    vanishing: set[int] = field(default_factory=set[int])
    refusals: list[str] = field(default_factory=list[str])
    literal_size: int | None = None
    bye: str | None = None
    commands: list[bytes] = field(default_factory=list[bytes])
    port: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one client until it leaves."""
        writer.write(b"* OK ready\r\n")
        try:
            while line := (await reader.readline()).rstrip(b"\r\n"):
                tag, _, command = line.partition(b" ")
                self.commands.append(command)
                if self.bye is not None and b"FETCH" in command:
                    writer.write(f"* BYE {self.bye}\r\n".encode())
                    self.bye = None
                    break
                writer.write(self._answer(tag, command))
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    def _answer(self, tag: bytes, command: bytes) -> bytes:
        ok = tag + b" OK done\r\n"
        if command == b"CAPABILITY":
            return b"* CAPABILITY IMAP4rev1\r\n" + ok
        if command.startswith((b"SELECT", b"EXAMINE")):
            return b"* %d EXISTS\r\n* OK [UIDVALIDITY 7] x\r\n" % len(self.mails) + ok
        if command.startswith(b"UID SEARCH"):
            found = sorted(uid for uid in self.mails if self._is_meant(command, uid))
            return b"* SEARCH " + b" ".join(b"%d" % uid for uid in found) + b"\r\n" + ok
        if command.startswith(b"UID FETCH"):
            return self._fetch(tag, command) or ok
        return ok

    def _is_meant(self, command: bytes, uid: int) -> bool:
        found = re.search(rb"UID (?:FETCH|SEARCH UID) \(?([\d,:*]+)", command)
        if found is None:
            return False
        for piece in found[1].split(b","):
            first, _, last = piece.partition(b":")
            if not last and int(first) == uid:
                return True
            if last and int(first) <= uid and (last == b"*" or uid <= int(last)):
                return True
        return False

    def _fetch(self, tag: bytes, command: bytes) -> bytes:
        meant = [uid for uid in sorted(self.mails) if self._is_meant(command, uid)]
        wants_content = b"BODY.PEEK[]" in command
        if self.refusals:
            return tag + f" NO {self.refusals.pop(0)}\r\n".encode()
        if wants_content and self.withheld & set(meant):
            return tag + b" NO internal error\r\n"
        if wants_content and self.vanishing:
            for uid in self.vanishing:
                self.mails.pop(uid, None)
            meant = [uid for uid in meant if uid not in self.vanishing]
        parts: list[bytes] = []
        for uid in meant:
            content = self.mails[uid]
            if wants_content:
                size = len(content) if self.literal_size is None else self.literal_size
                parts.append(b"* %d FETCH (UID %d BODY[] {%d}\r\n%s)\r\n" % (uid, uid, size, content))
            else:
                header = content.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
                name = b"BODY[HEADER.FIELDS (FROM TO SUBJECT MESSAGE-ID)]"
                parts.append(
                    b"* %d FETCH (UID %d RFC822.SIZE %d %s {%d}\r\n%s)\r\n"
                    % (uid, uid, len(content), name, len(header), header)
                )
        return b"".join(parts) + tag + b" OK done\r\n"


@asynccontextmanager
async def running_scripted_imap(mails: dict[int, bytes]) -> AsyncGenerator[ScriptedImap]:
    """The server, within the block."""
    scripted = ScriptedImap(dict(mails))
    server = await asyncio.start_server(scripted.serve, "127.0.0.1", 0)
    scripted.port = server.sockets[0].getsockname()[1]
    try:
        yield scripted
    finally:
        server.close()
