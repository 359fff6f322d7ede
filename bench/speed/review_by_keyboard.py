"""Compare the review of a receipt by keyboard alone with that by mouse alone, in Chromium and a real vault.

Usage: python -m bench review_by_keyboard

The same photographed receipt is added to two empty vaults, read, and reviewed from the queue to "approved".
Each open value is confirmed as it is, or its first suggestion accepted: what would have to be typed takes the
same in both ways, but for the hand's way to the keys and back.

A script has no hands: its own time tells only how long the vault takes to answer. A person's time is computed
from the actions by the keystroke-level model (Card, Moran and Newell 1980, The keystroke-level model for user
performance time with interactive systems, Communications of the ACM 23:7): .28 s for a key (average typist;
Ctrl and Enter are two), 1.1 s for pointing at something, .1 s for pressing or letting go of a button of the
mouse, and .4 s for the hand's way between mouse and keys, which neither way needs. The time to look and to
decide is the same in both and left out.
"""

import math
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from playwright.sync_api import Locator, Page, expect, sync_playwright

from bench.arguments import argument_parser
from docmill.demo import generate

RECEIPT = "IMG_2077.HEIC"
PATIENCE_S = 120
KEY_S, POINTING_S, BUTTON_S = 0.28, 1.1, 0.1
OPEN = "[...new Set([...document.querySelectorAll('#panel [data-open]')].map(each => each.dataset.path))]"
"""The paths of the values that are open."""
OTHERS_ARE_LEFT = f"""before => {OPEN}.length < before
    && ({OPEN}.length === 0 || document.activeElement.closest('#panel .field[data-open]') !== null)"""
"""Ends once fewer values are open than before, and the next one has the focus."""


@dataclass
class Actions:
    """The actions of a person. keys: pressed, with those that are held. buttons: of the mouse, down or up."""

    keys: int = 0
    pointings: int = 0
    buttons: int = 0
    travel_px: float = 0.0

    @property
    def model_s(self) -> float:
        return self.keys * KEY_S + self.pointings * POINTING_S + self.buttons * BUTTON_S


class Keyboard:
    """Reviews with keys alone."""

    name = "keys"

    def __init__(self, page: Page) -> None:
        self.actions = Actions()
        self._page = page

    def _press(self, keys: str) -> None:
        self.actions.keys += len(keys.split("+"))
        self._page.keyboard.press(keys)

    def begin(self) -> None:
        self._press("Enter")
        self._page.wait_for_url("**/review/*-*")
        expect(self._page.locator("#connection")).to_have_text("Live")
        self._press("Control+Enter")  # leads to the first open value
        until(self._page, "() => document.activeElement.closest('#panel .field[data-open]') !== null")

    def confirm(self) -> None:
        self._press("Enter")

    def approve(self) -> None:
        self._press("Control+Enter")


class Mouse:
    """Reviews with the mouse alone, which begins in the middle of the window."""

    name = "mouse"

    def __init__(self, page: Page) -> None:
        self.actions = Actions()
        self._page = page
        size = page.viewport_size
        assert size is not None
        self._at = size["width"] / 2, size["height"] / 2
        page.mouse.move(*self._at)

    def _click(self, target: Locator) -> None:
        box = target.bounding_box()
        assert box is not None
        to = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        hit = target.evaluate("(target, [x, y]) => target.contains(document.elementFromPoint(x, y))", to)
        assert hit, f"{target} is not in sight"
        self.actions.pointings += 1
        self.actions.buttons += 2
        self.actions.travel_px += math.dist(self._at, to)
        self._at = to
        self._page.mouse.click(*to)

    def begin(self) -> None:
        self._click(self._page.locator("#start-review"))
        self._page.wait_for_url("**/review/*-*")
        expect(self._page.locator("#connection")).to_have_text("Live")

    def confirm(self) -> None:
        path = self._page.evaluate(f"{OPEN}[0]")
        field = self._page.locator(f'#panel .field[data-path="{path}"]')
        if not field.count():
            self._click(self._page.locator(f'#panel td a[data-path="{path}"]'))
            field.wait_for()
        chip = field.locator(".chip")
        self._click(chip.first if chip.count() else field.locator(".say"))

    def approve(self) -> None:
        self._click(self._page.locator("#approve button"))


def until(page: Page, predicate: str, argument: object = None) -> None:
    """Ask again and again: Playwright's own way to wait is forbidden by the policy of the pages."""
    deadline = time.monotonic() + PATIENCE_S
    while not page.evaluate(predicate, argument):
        assert time.monotonic() < deadline, predicate
        time.sleep(0.005)


@contextmanager
def vault(folder: Path) -> Generator[str]:
    """The address of an empty vault."""
    command = [Path(sys.executable).with_name("docmill"), "up", "--data-dir", folder, "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        yield "http://" + said.partition("http://")[2].strip()
    finally:
        process.terminate()
        process.communicate(timeout=60)


def add(address: str, receipt: Path) -> None:
    """Add the receipt and wait until it is read."""
    with receipt.open("rb") as file:
        answer = httpx.post(f"{address}api/v1/documents", files={"file": (receipt.name, file)}, timeout=60)
    document_id = answer.json()["results"][0]["document_id"]
    deadline = time.monotonic() + PATIENCE_S
    while (state := _state(address, document_id)) == "processing":
        assert time.monotonic() < deadline, "the receipt is not read"
        time.sleep(0.2)
    assert state == "needs_review", f"the receipt is {state}: choose one that needs a review"


def _state(address: str, document_id: str) -> str:
    return str(httpx.get(f"{address}api/v1/documents/{document_id}", timeout=60).json()["state"])


def review(page: Page, address: str, way: Keyboard | Mouse) -> tuple[int, float]:
    """Review the only document from the queue to approved; how many values were open, and the seconds."""
    page.goto(f"{address}review")
    expect(page.locator("#connection")).to_have_text("Live")
    started = time.perf_counter()
    way.begin()
    count = len(page.evaluate(OPEN))
    while left := len(page.evaluate(OPEN)):
        way.confirm()
        until(page, OTHERS_ARE_LEFT, left)
    way.approve()
    page.wait_for_url("**/review?approved=*")
    return count, time.perf_counter() - started


def main() -> None:
    argument_parser(__doc__).parse_args()
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("Chromium is not installed: scripts/system-packages chromium fonts-liberation")
    rows: list[list[str]] = [["", "open values", "keys", "pointings", "travel, px", "model, s", "clock, s"]]
    with tempfile.TemporaryDirectory(prefix="docmill-") as folder, sync_playwright() as playwright:
        Path(folder).chmod(0o711)  # as root, the database's user passes through it
        samples = generate(Path(folder) / "samples")
        receipt = next(sample.path for sample in samples if sample.name == RECEIPT)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for make in (Keyboard, Mouse):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            way = make(page)
            with vault(Path(folder) / way.name) as address:
                add(address, receipt)
                count, seconds = review(page, address, way)
                page.close()
            done = way.actions
            numbers = (count, done.keys, done.pointings, round(done.travel_px))
            rows.append([way.name, *map(str, numbers), f"{done.model_s:.1f}", f"{seconds:.1f}"])
        browser.close()
    for name, *cells in rows:
        print(f"{name:<8}" + "".join(f"{cell:>12}" for cell in cells))


if __name__ == "__main__":
    main()
