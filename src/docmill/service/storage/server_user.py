"""User under whom the embedded PostgreSQL runs where docmill runs as root, and the folders on its way."""

import hashlib
import os
import pwd
import shutil
import stat
import subprocess
from pathlib import Path

from docmill.errors import MisconfiguredError

SERVER_USER = "pgserver"
_REFUSED = f"docmill runs as root and its PostgreSQL as the user {SERVER_USER!r}, who may not pass through"


def is_root() -> bool:
    """True if this process runs as root, as whom PostgreSQL refuses to run."""
    return os.geteuid() == 0


def server_user() -> int:
    """The number of the user who runs the server."""
    return pwd.getpwnam(SERVER_USER).pw_uid if is_root() else os.geteuid()


def server_group() -> int:
    """The number of the group of the user who runs the server, which nobody else is in."""
    return pwd.getpwnam(SERVER_USER).pw_gid if is_root() else os.getegid()


def user_name(user: int) -> str:
    """The name of a user. Raises MisconfiguredError for one without, as containers may have."""
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError as error:
        raise MisconfiguredError(
            f"the user {user}, as whom docmill runs, has no name on this machine, and PostgreSQL starts only"
            " under one that has: add it to /etc/passwd, run docmill as another user, or set database_url"
        ) from error


def add_server_user() -> None:
    """Make the server's user, if docmill runs as root and there is none."""
    if not is_root():
        return
    try:
        pwd.getpwnam(SERVER_USER)
    except KeyError:
        command = ["useradd", "--system", "--user-group", "--no-create-home", SERVER_USER]
        subprocess.run(command, check=True)  # noqa: S603  all of it is ours


def let_server_pass(folder: Path, *, data_dir: Path) -> None:
    """Let the server's user, and no other, pass through `folder` and those above it from `data_dir` on.

    Raises MisconfiguredError if it may not get there: folders above `data_dir` are not docmill's to open,
    nor is one whose group is in use.
    """
    ours = [path for path in (folder, *folder.parents) if path.is_relative_to(data_dir)]
    for path in reversed(ours):
        if _may_pass(path):
            continue
        if not _may_pass(path.parent) or path.stat().st_mode & stat.S_IRWXG:
            raise MisconfiguredError(
                f"{_REFUSED} {str(_closed_folder(path))!r}: run docmill as a user of its own, or give"
                " --data-dir a folder that every user may pass through, such as '/var/lib/docmill'"
            )
        os.chown(path, -1, server_group())
        path.chmod(stat.S_IMODE(path.stat().st_mode) | stat.S_IXGRP)


def programs_for_server(programs: Path, folder: Path) -> Path:
    """The folder of PostgreSQL's programs that the server's user may use: `programs`, or a copy in `folder`.

    As root, docmill may be installed where no other user gets, such as below `/root`.
    """
    if not is_root() or _may_pass(programs / "postgres"):
        return programs
    status = (programs / "postgres").stat()
    installed = f"{programs} {status.st_mtime_ns} {status.st_size}"
    place = folder / f"programs-{hashlib.sha256(installed.encode()).hexdigest()[:16]}"
    if not place.exists():
        fresh = folder / "programs.new"
        shutil.rmtree(fresh, ignore_errors=True)
        package = programs.parent.parent  # its libraries lie beside it, and are found from there
        for part in (programs.parent, package.with_name(f"{package.name}.libs")):
            shutil.copytree(part, fresh / part.relative_to(package.parent), symlinks=True)
        _give_to_server(fresh)
        fresh.rename(place)
    return place / programs.relative_to(programs.parent.parent.parent)


def _give_to_server(folder: Path) -> None:
    """Let the server's user, and no other, use a folder with all that is in it."""
    for parent, folders, files in os.walk(folder):
        for path in (Path(parent), *(Path(parent, name) for name in (*folders, *files))):
            if not path.is_symlink():
                path.chmod(0o700 if os.access(path, os.X_OK) else 0o600)
            os.chown(path, server_user(), server_group(), follow_symlinks=False)


def _may_pass(folder: Path) -> bool:
    """True if the server's user may pass through a folder and all above it; lists of access count, too."""
    command = ["test", "-x", str(folder)]
    done = subprocess.run(  # noqa: S603  a program of the system with a path of ours
        command, user=SERVER_USER, group=SERVER_USER, extra_groups=[], cwd="/", check=False
    )
    return done.returncode == 0


def _closed_folder(path: Path) -> Path:
    """The first folder on the way to `path`, and perhaps this itself, that the server's user may not pass."""
    return next(folder for folder in (*reversed(path.parents), path) if not _may_pass(folder))
