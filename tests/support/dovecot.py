"""Mail servers of tests: Dovecot of the Debian package dovecot-imapd, on free ports of this machine."""

import getpass
import imaplib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from support.redis_servers import free_port

PASSWORD = "correct horse"
_STARTS_WITHIN_S = 20.0
_DOVECOT = Path("/usr/sbin/dovecot")


class Dovecot:
    """A server whose users all have one password and whose mailboxes are in a folder.

    options: further lines of its configuration.
    """

    def __init__(self, folder: Path, options: str = "") -> None:
        self.folder = folder
        self.port = free_port()
        self.tls_port = free_port()
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        if not _DOVECOT.exists():
            pytest.skip("Dovecot is not installed: scripts/system-packages dovecot-imapd")
        config = self.folder / "dovecot.conf"
        config.write_text(self._config())
        self._process = subprocess.Popen([_DOVECOT, "-F", "-c", config], stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + _STARTS_WITHIN_S
        while not self._answers():
            if time.monotonic() > deadline or self._process.poll() is not None:
                self.kill()
                raise RuntimeError((self.folder / "log").read_text()[-2000:])
            time.sleep(0.05)

    def stop(self) -> None:
        """End it in good order; those who are connected are told."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it and its processes at once."""
        self._end(signal.SIGKILL)

    def _end(self, number: int) -> None:
        if self._process is None:
            return
        children = psutil.Process(self._process.pid).children(recursive=True)
        self._process.send_signal(number)
        self._process.wait(20)
        _, left = psutil.wait_procs(children, 0 if number == signal.SIGKILL else 10)
        for child in left:
            child.kill()
        self._process = None

    def deliver(self, user: str, mails: Iterable[bytes], folder: str = "INBOX") -> None:
        """Put mails into a folder, as a mail program does."""
        with self.client(user) as client:
            if folder != "INBOX":
                client.create(folder)
            for mail in mails:
                answer, _ = client.append(folder, "", "", mail)  # pyright: ignore[reportArgumentType] - no time
                assert answer == "OK"

    def drop(self, user: str, mails: Iterable[bytes]) -> None:
        """Put mails into the inbox as a delivery program does, also such as no client may send."""
        for number, mail in enumerate(mails):
            name = f"{time.time():.6f}.{os.getpid()}_{number}.test"
            place = self.mailbox(user)
            written = place / "tmp" / name
            written.write_bytes(mail)
            if os.geteuid() == 0:
                shutil.chown(written, "dovecot", "dovecot")
            written.rename(place / "new" / name)

    @contextmanager
    def client(self, user: str) -> Generator[imaplib.IMAP4]:
        """A signed-in client of Python's own library."""
        with imaplib.IMAP4("127.0.0.1", self.port, timeout=20) as client:
            client.login(user, PASSWORD)
            yield client

    def uids(self, user: str, folder: str = "INBOX", criteria: str = "ALL") -> list[int]:
        """The mails of a folder that match."""
        with self.client(user) as client:
            answer, _ = client.select(folder, readonly=True)
            assert answer == "OK"
            _, (found,) = client.uid("SEARCH", criteria)
            return [int(uid) for uid in found.split()]

    def mailbox(self, user: str) -> Path:
        """The folder of a user's mails, a Maildir."""
        return self.folder / "mail" / user

    def renumber(self, user: str) -> None:
        """Have the mails of the inbox numbered anew; the server must not run."""
        assert self._process is None
        for path in (
            *self.mailbox(user).glob("dovecot-uidlist*"),
            *self.mailbox(user).glob("dovecot.index*"),
        ):
            path.unlink()
        (self.mailbox(user) / "dovecot-uidvalidity").unlink(missing_ok=True)
        for path in self.mailbox(user).glob("dovecot-uidvalidity.*"):
            path.unlink()

    def _answers(self) -> bool:
        try:
            with imaplib.IMAP4("127.0.0.1", self.port, timeout=2):
                return True
        except (OSError, imaplib.IMAP4.error):
            return False

    def _config(self) -> str:
        is_root = os.geteuid() == 0
        user = "dovecot" if is_root else getpass.getuser()
        login_user = "dovenull" if is_root else user
        for name in ("run", "state", "mail"):
            path = self.folder / name
            path.mkdir(exist_ok=True)
            if is_root:
                shutil.chown(path, user, user)
        chroots = "" if is_root else "chroot ="
        return f"""
base_dir = {self.folder}/run
state_dir = {self.folder}/state
log_path = {self.folder}/log
protocols = imap
listen = 127.0.0.1
ssl = no
disable_plaintext_auth = no
auth_mechanisms = plain login
default_internal_user = {user}
default_internal_group = {user}
default_login_user = {login_user}
first_valid_uid = 1
mail_location = maildir:{self.folder}/mail/%u
mail_uid = {user}
mail_gid = {user}
mail_max_userip_connections = 100
service imap-login {{
  inet_listener imap {{
    port = {self.port}
  }}
  inet_listener imaps {{
    port = {self.tls_port}
    ssl = yes
  }}
  {chroots}
}}
service anvil {{
  {chroots}
}}
service stats {{
  {chroots}
}}
userdb {{
  driver = static
  args = uid={user} gid={user} home={self.folder}/mail/%u
}}
passdb {{
  driver = passwd-file
  args = {self._users(user)}
}}
{self._options}
"""

    def _users(self, user: str) -> Path:
        path = self.folder / "users"
        path.write_text("".join(f"{name}:{{PLAIN}}{PASSWORD}::::::\n" for name in USERS))
        if os.geteuid() == 0:
            shutil.chown(path, user, user)
        return path


USERS = ("anna", "bert", "clara")


@contextmanager
def running_dovecot(options: str = "") -> Generator[Dovecot]:
    """A server in a folder of its own, which ends with the block."""
    # Not pytest's folder: the processes of the server run as another user when tests run as root.
    with tempfile.TemporaryDirectory(prefix="docmill-dovecot-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        server = Dovecot(folder, options)
        server.start()
        try:
            yield server
        finally:
            server.kill()
