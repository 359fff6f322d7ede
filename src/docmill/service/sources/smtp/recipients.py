"""Recipients of mails: the sources whose addresses they are."""

from collections.abc import Sequence
from dataclasses import dataclass

from docmill.service.sources.mail.mail_addresses import split_address
from docmill.service.sources.smtp.smtp_source import SMTP, SmtpSettings
from docmill.service.sources.sources import Sources
from docmill.service.store import doc_sources
from docmill.service.store.database import Database
from docmill.service.store.doc_sources import SourceRow


@dataclass(frozen=True, slots=True)
class Recipient:
    """A source to which a mail goes. address: as its sender gave it."""

    address: str
    row: SourceRow
    settings: SmtpSettings


class Recipients:
    """Finds sources by their addresses."""

    def __init__(self, database: Database, sources: Sources, domains: Sequence[str]) -> None:
        self._database = database
        self._sources = sources
        self._domains = frozenset(domain.lower() for domain in domains)

    def is_ours(self, address: str) -> bool:
        """True for an address of one of our domains."""
        return split_address(address, self._domains) is not None

    async def find(self, address: str) -> Recipient | None:
        """The source of an address, `anything+TOKEN@…` or `SOURCE+TENANT@…`; None if there is none.

        By their names only sources with a list of senders are found, and only if no other is called so.
        Raises ServerError without a database.
        """
        parts = split_address(address, self._domains)
        if parts is None:
            return None
        before, tag = parts
        async with self._database.transaction() as conn:
            found = await doc_sources.of_token(conn, [SMTP.name], tag)
            if found is None and before:
                found = await doc_sources.of_names(conn, [SMTP.name], source_word=before, tenant_word=tag)
        row = None if found is None else await self._sources.get(found[0], tenant_id=found[1])
        return None if row is None else Recipient(address, row, SmtpSettings.model_validate(row.settings))
