"""Files of bookings of a tenant's documents, and what was left out of them."""

from collections.abc import AsyncGenerator, AsyncIterator
from uuid import UUID

from docmill.service.exports.bookings import Bill, BookingReport, BookingRules, bill_batches
from docmill.service.exports.datev import datev_file
from docmill.service.exports.ledger import ledger_file
from docmill.service.exports.tables import Progress, nothing
from docmill.service.store.database import Database
from docmill.service.store.document_list import DocumentFilters


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

    def datev(self, progress: Progress = nothing) -> AsyncGenerator[bytes]:
        """The file in the DATEV format; raises what `datev_file` raises."""
        rules = self._rules
        return datev_file(self._bills(progress), rules.bookkeeping, rules.period, self.report)

    def ledger(self, progress: Progress = nothing) -> AsyncGenerator[bytes]:
        """The file of a general ledger."""
        return ledger_file(self._bills(progress), self._rules.bookkeeping, self.report)

    def _bills(self, progress: Progress) -> AsyncIterator[list[Bill]]:
        return bill_batches(
            self._database,
            self._selection,
            self._rules,
            self.report,
            tenant_id=self._tenant_id,
            progress=progress,
        )
