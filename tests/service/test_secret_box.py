import stat
from uuid import UUID

import pytest

from docmill.errors import MisconfiguredError
from docmill.service.config.settings import Settings
from docmill.service.secret_box import KEY_FILE, SecretBox, open_secret_box

ROW = UUID(int=1)
OTHER_ROW = UUID(int=2)


def test_a_secret_opens_for_its_row_alone() -> None:
    box = SecretBox([b"k" * 32])
    sealed = box.seal(b"hunter2", owner=ROW)

    assert b"hunter2" not in sealed
    assert box.open(sealed, owner=ROW) == b"hunter2"
    with pytest.raises(MisconfiguredError):
        box.open(sealed, owner=OTHER_ROW)
    with pytest.raises(MisconfiguredError):
        box.open(sealed[:-1], owner=ROW)


def test_a_key_of_before_still_opens() -> None:
    sealed = SecretBox([b"old" * 11]).seal(b"hunter2", owner=ROW)

    assert SecretBox([b"new" * 11, b"old" * 11]).open(sealed, owner=ROW) == b"hunter2"
    with pytest.raises(MisconfiguredError, match="previous_keys"):
        SecretBox([b"new" * 11]).open(sealed, owner=ROW)


def test_an_installation_of_one_machine_makes_its_key_once(settings: Settings) -> None:
    alone = settings.model_copy(update={"database_url": None})
    sealed = open_secret_box(alone).seal(b"hunter2", owner=ROW)

    assert open_secret_box(alone).open(sealed, owner=ROW) == b"hunter2"
    path = alone.folder / KEY_FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.glob(f"{KEY_FILE}*")] == [KEY_FILE]


def test_without_a_key_nothing_is_kept() -> None:
    with pytest.raises(MisconfiguredError, match=r"secrets\.key"):
        SecretBox([]).seal(b"hunter2", owner=ROW)
