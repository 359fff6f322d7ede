"""Files of bookings of a tenant's documents, and what was left out of them."""

import logging
from collections.abc import AsyncGenerator, AsyncIterator
from uuid import UUID

from docmill.service.exports.bookings import Bill, BookingReport, BookingRules, bill_batches
from docmill.service.exports.datev import check_period, datev_file, file_name
from docmill.service.exports.datev_archive import DatevArchive
from docmill.service.exports.ledger import ledger_file
from docmill.service.exports.tables import Progress, nothing
from docmill.service.storage.blobs import Blobs
from docmill.service.store.database import Database
from docmill.service.store.document_list import DocumentFilters

_MOST_LOGGED = 100

log = logging.getLogger(__name__)


class Bookings:
    """Makes one file of the bookings of the selected documents. report: complete when the file is."""

    def __init__(
        self, database: Database, selection: DocumentFilters, rules: BookingRules, *, tenant_id: UUID
    ) -> None:
        self._database = database
        self._selection = selection
        self._rules = rules
        self._tenant_id = tenant_id
        self.report = BookingReport()

    def datev(self, progress: Progress = nothing, *, has_links: bool = False) -> AsyncGenerator[bytes]:
        """The file in the DATEV format; raises what `datev_file` raises."""
        rules = self._rules
        file = datev_file(
            self._bills(progress), rules.bookkeeping, rules.period, self.report, has_links=has_links
        )
        return self._logged(file)

    def datev_archive(self, blobs: Blobs, progress: Progress = nothing) -> AsyncGenerator[bytes]:
        """An archive of the file in the DATEV format and the booked documents; raises the same."""
        first, last = check_period(self._rules.period, self._rules.bookkeeping)
        archive = DatevArchive(self._database, blobs, tenant_id=self._tenant_id)
        file = self.datev(progress, has_links=True)
        return archive.stream(file, file_name(first, last), self.report.booked)

    def ledger(self, progress: Progress = nothing) -> AsyncGenerator[bytes]:
        """The file of a general ledger."""
        return self._logged(ledger_file(self._bills(progress), self._rules.bookkeeping, self.report))

    async def _logged(self, file: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
        """The file; at its end, the log says how many documents are left out of it, and which."""
        async for chunk in file:
            yield chunk
        left_out = [str(document.document_id) for document in self.report.left_out]
        counts = {"booked": self.report.booked_count, "left_out": len(left_out)}
        log.info("bookings are exported", extra={**counts, "left_out_ids": left_out[:_MOST_LOGGED]})

    def _bills(self, progress: Progress) -> AsyncIterator[list[Bill]]:
        return bill_batches(
            self._database,
            self._selection,
            self._rules,
            self.report,
            tenant_id=self._tenant_id,
            progress=progress,
        )
