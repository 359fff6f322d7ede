"""Pictures of the places where values stand, for people to look at."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from docmill.model.document import Box
from docmill.reading.child.render import MAX_HEIGHT_PX, picture
from docmill.reading.files.options import ReadingOptions
from docmill.reading.images import image_file
from docmill.workers.pool import Pool

PAGE_PX = 1200
"""The page's width: letters are as large as they are on a screen."""

_AROUND_PX = 60
_ASIDE_PX = 160
_EDGE_PX = 4
_COLOUR = (193, 53, 45)


class LocalClipper:
    """Cuts places out of pages in the processes of a pool."""

    def __init__(self, pool: Pool, options: ReadingOptions) -> None:
        self._pool = pool
        self._options = options

    async def clip(self, original: Path, page_number: int, box: Box) -> bytes:
        """The place with a frame and what is around it, as WebP. Raises what `LocalRenderer.render` does."""
        arguments = (original, page_number, box, self._options)
        return await self._pool.run(draw_clip, *arguments, limit_s=self._options.render_limit_s)


def draw_clip(path: Path, page_number: int, box: Box, options: ReadingOptions) -> bytes:
    """See `LocalClipper.clip`; this is what the child does."""
    page = picture(path, page_number, (PAGE_PX, MAX_HEIGHT_PX), None, options)
    return image_file.webp(page._replace(pixels=_cut(page, box)))


def _cut(page: image_file.Picture, box: Box) -> NDArray[np.uint8]:
    x0, x1 = round(box.x0 * page.width_px), round(box.x1 * page.width_px)
    y0, y1 = round(box.y0 * page.height_px), round(box.y1 * page.height_px)
    around = (
        max(0, x0 - _ASIDE_PX),
        max(0, y0 - _AROUND_PX),
        min(page.width_px, x1 + _ASIDE_PX),
        min(page.height_px, y1 + _AROUND_PX),
    )
    image = Image.fromarray(page.pixels).crop(around)
    left, top = around[:2]
    frame = (x0 - left - _EDGE_PX, y0 - top - _EDGE_PX, x1 - left + _EDGE_PX, y1 - top + _EDGE_PX)
    ImageDraw.Draw(image).rectangle(frame, outline=_COLOUR, width=2)
    return np.asarray(image)
