"""A page renderer for tests: no picture, only what was asked for."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class PaintedPages:
    """`PageRenderer` that remembers its calls. error: raised instead of painting."""

    asked: list[tuple[bytes, int, int]] = field(default_factory=list[tuple[bytes, int, int]])
    error: Exception | None = None

    async def render(
        self, original: Path, *, page_number: int, width_px: int, rotation: int | None = None
    ) -> bytes:
        """See `PageRenderer.render`."""
        if self.error:
            raise self.error
        content = await asyncio.to_thread(original.read_bytes)
        self.asked.append((content, page_number, width_px))
        turned = f" turned by {rotation}" if rotation else ""
        return f"picture of page {page_number}, {width_px} px{turned}".encode()
