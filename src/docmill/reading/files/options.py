"""Options and limits of reading a document."""

from dataclasses import dataclass, field

from docmill.model.statement_columns import StatementColumns
from docmill.sections.serial_numbers import ASN_PREFIX
from docmill.sections.splitting import SEPARATOR


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """Limits of one document.

    max_flow_pages: of a format without pages; its rest is not read. max_pixels: of one stored image,
    before it is decoded. max_dimension_px: to which images and rendered pages are fitted before they are
    read; small print is reduced less. quality_threshold: below it a page is read again, by other means.
    languages: that a page may be in, as ISO 639-1; none for all that the engine knows. open_limit_s: for
    looking into a file and for a chunk of pages with text; flow_limit_s: for the whole of a format
    without pages; ocr_limit_s: for recognising one page; render_limit_s: for a picture of one. max_parts,
    max_part_bytes, max_unpacked_bytes, max_ratio: of what one document holds; unpack_limit_s: for taking
    out a share of it. unlock_limit_s: for taking the password off a file. passwords: to try on files that
    ask for one; open_limit_s and flow_limit_s are for each of them. split: a PDF or TIFF that holds
    several documents has them as parts. separator: what a sheet between two of them says.
    asn_prefix: of codes with archive serial numbers, each of which begins a document; empty for none.
    keep_preprocessed: a document comes with the pictures in which bad pages were read. statement_columns:
    those found in earlier tables of bookings, for tables with the same headings.
    """

    max_pages: int = 1000
    max_flow_pages: int = 500
    max_pixels: int = 100_000_000
    max_dimension_px: int = 2048
    quality_threshold: float = 0.7
    languages: tuple[str, ...] = ()
    open_limit_s: float = 8
    flow_limit_s: float = 20
    ocr_limit_s: float = 60
    render_limit_s: float = 10
    pages_per_task: int = 16
    max_parts: int = 1000
    max_part_bytes: int = 50_000_000
    max_unpacked_bytes: int = 500_000_000
    max_ratio: int = 200
    unpack_limit_s: float = 60
    unlock_limit_s: float = 30
    passwords: tuple[str, ...] = field(default=(), repr=False)
    split: bool = False
    separator: str = SEPARATOR
    asn_prefix: str = ASN_PREFIX
    keep_preprocessed: bool = False
    statement_columns: tuple[StatementColumns, ...] = ()

    def with_tries(self, limit_s: float) -> float:
        """The limit for a task that may have to try every password."""
        return limit_s * max(1, len(self.passwords))
