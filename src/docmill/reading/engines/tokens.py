"""Words and their places out of Document AI's answers, which nobody promises to make sense."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from docmill.errors import BadModelOutputError
from docmill.reading.engines.page_image import Drawn
from docmill.reading.ocr.page import Recognised

Message: TypeAlias = Any
"""One of Google's messages, whose types are made at run time."""


def recognised(document: Message, drawn: Drawn) -> Recognised:
    """The words of an answer, in pixels of the picture sent. Raises BadModelOutputError."""
    if len(document.pages) != 1:
        raise BadModelOutputError(f"Document AI answered with {len(document.pages)} pages for one")
    page = document.pages[0]
    texts: list[str] = []
    corners: list[list[tuple[float, float]]] = []
    scores: list[float] = []
    glued = False
    for token in page.tokens:
        text = _text(document.text, token.layout.text_anchor.text_segments)
        places = _places(token.layout.bounding_poly, page.dimension)
        if glued and text.strip():
            texts[-1] += text.strip()
            corners[-1] = [corners[-1][0], places[1], places[2], corners[-1][3]]
            scores[-1] = min(scores[-1], token.layout.confidence)
        elif text.strip():
            texts.append(text.strip())
            corners.append(places)
            scores.append(token.layout.confidence)
        glued = bool(texts) and not text[-1:].isspace()  # a comma is a token, and no word
    found = np.array(corners, np.float64).reshape(-1, 4, 2)
    if not np.isfinite(found).all() or not all(math.isfinite(score) for score in scores):
        raise BadModelOutputError("Document AI answered with places that are no numbers")
    found = _as_sent(found, page, drawn)
    return Recognised(
        texts, found.astype(np.float32), np.clip(np.array(scores, np.float32), 0, 1, dtype=np.float32)
    )


def _text(whole: str, segments: Sequence[Message]) -> str:
    """What a token is of the whole text."""
    spans = [(int(segment.start_index), int(segment.end_index)) for segment in segments]
    if any(not 0 <= start <= end <= len(whole) for start, end in spans):
        raise BadModelOutputError("Document AI answered with words outside its text")
    return "".join(whole[start:end] for start, end in spans)


def _places(polygon: Message, dimension: Message) -> list[tuple[float, float]]:
    """The four corners in Document AI's own picture, in its pixels."""
    if len(polygon.normalized_vertices) == 4:  # noqa: PLR2004
        width, height = dimension.width, dimension.height
        return [(point.x * width, point.y * height) for point in polygon.normalized_vertices]
    if len(polygon.vertices) == 4:  # noqa: PLR2004
        return [(point.x, point.y) for point in polygon.vertices]
    raise BadModelOutputError("Document AI answered with a word that stands nowhere")


def _as_sent(corners: NDArray[np.float64], page: Message, drawn: Drawn) -> NDArray[np.float64]:
    """Corners in the picture that we sent: Document AI straightens pictures before it reads them."""
    matrix = np.eye(3)
    for transform in page.transforms:
        matrix = _matrix(transform) @ matrix
    if not page.transforms:
        if not (page.dimension.width > 0 and page.dimension.height > 0):
            raise BadModelOutputError("Document AI answered with a page without size")
        scale = (drawn.width_px / page.dimension.width, drawn.height_px / page.dimension.height)
        return corners * np.array(scale)
    try:
        back = np.linalg.inv(matrix)
    except np.linalg.LinAlgError as error:
        raise BadModelOutputError("Document AI turned the page into nothing") from error
    points = np.concatenate([corners, np.ones((*corners.shape[:2], 1))], axis=2) @ back.T
    return points[..., :2] / points[..., 2:]


_KINDS: Mapping[int, type[np.floating[Any]]] = {5: np.float32, 6: np.float64}
"""OpenCV's numbers for the kinds of a matrix's members."""


def _matrix(transform: Message) -> NDArray[np.float64]:
    """An affine or projective matrix as OpenCV keeps it, made 3 x 3."""
    kind = _KINDS.get(transform.type_)
    rows, columns = transform.rows, transform.cols
    if kind is None or (rows, columns) not in {(2, 3), (3, 3)}:
        raise BadModelOutputError("Document AI tells in no known form how it turned the page")
    values = np.frombuffer(transform.data, kind) if len(transform.data) % kind().nbytes == 0 else np.zeros(0)
    if values.size != rows * columns or not np.isfinite(values).all():
        raise BadModelOutputError("Document AI does not tell how it turned the page")
    matrix = np.eye(3)
    matrix[:rows] = values.reshape(rows, columns)
    return matrix
