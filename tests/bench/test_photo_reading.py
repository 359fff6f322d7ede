import numpy as np
import pytest
from bench.accuracy.photo_reading import overlap, turn_box

from docmill.model.document import Box
from docmill.reading.ocr.text_lines import turn_corners


@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
def test_labels_turn_with_their_picture(degrees: int) -> None:
    corners = np.array([[(10, 40), (30, 40), (30, 60), (10, 60)]], np.float32)
    turned = turn_corners(corners, degrees, width_px=100, height_px=200)[0]
    wide, high = (200, 100) if degrees % 180 else (100, 200)

    box = turn_box(Box(0.1, 0.2, 0.3, 0.3), degrees)

    assert box == pytest.approx([*turned.min(axis=0) / (wide, high), *turned.max(axis=0) / (wide, high)])


def test_only_boxes_that_share_a_point_overlap() -> None:
    assert overlap(Box(0.1, 0.1, 0.3, 0.2), Box(0.2, 0.15, 0.5, 0.4))
    assert not overlap(Box(0.1, 0.1, 0.3, 0.2), Box(0.2, 0.25, 0.5, 0.4))
