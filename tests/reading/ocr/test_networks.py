import subprocess
import sys

import pytest

from docmill.errors import MisconfiguredError
from docmill.reading.ocr import rapid


def test_a_missing_network_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rapid, "PACKAGE", "docmill")

    with pytest.raises(MisconfiguredError, match="pip install --force-reinstall"):
        rapid.model_file("recognition")


def test_the_recogniser_knows_letters_and_blanks() -> None:
    characters = rapid.Network("recognition").characters

    assert characters[0] == ""
    assert characters[-1] == " "
    assert {"a", "Ä", "€", "7"} <= set(characters)


def test_nobody_is_told_what_is_run() -> None:
    """Telemetry has a thread of its own, where it is on."""
    program = (
        "import os\n"
        "from docmill.reading.ocr.rapid import Network\n"
        "before = len(os.listdir('/proc/self/task'))\n"
        "network = Network('turning')\n"
        "print(len(os.listdir('/proc/self/task')) - before)\n"
    )

    started = subprocess.run([sys.executable, "-c", program], env={}, capture_output=True, check=True)

    assert started.stdout == b"0\n"
