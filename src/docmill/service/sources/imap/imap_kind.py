"""The kind `imap`: a mailbox from which mails are fetched as soon as they arrive."""

from docmill.errors import MisconfiguredError
from docmill.service.config.settings import Settings
from docmill.service.sources.authorization import PermissionServer
from docmill.service.sources.imap.imap_settings import (
    ImapSecrets,
    ImapSettings,
    oauth_client,
    tls_context,
)
from docmill.service.sources.kinds import Connection, Kind, OpenedSource


def _open(source: OpenedSource, settings: Settings) -> Connection:
    # Only who watches or tries a mailbox loads the library for it.
    from docmill.service.sources.imap.mailbox_watcher import open_mailbox  # noqa: PLC0415

    return open_mailbox(source, settings)


def _check(chosen: ImapSettings, settings: Settings) -> None:
    tls_context(chosen.ca_certificates)
    if chosen.security == "none" and not settings.sources.allow_private_addresses:
        raise MisconfiguredError(
            "a connection without encryption is only for networks of your own: choose tls or starttls, or let"
            " whoever runs this installation set sources.allow_private_addresses"
        )


def _permission_server(source: OpenedSource) -> PermissionServer | None:
    chosen: ImapSettings = source.settings
    secrets: ImapSecrets = source.secrets
    if chosen.sign_in == "password":
        return None
    if not chosen.authorization_endpoint:
        raise MisconfiguredError("set authorization_address, where the owner of the mailbox grants access")
    return PermissionServer(
        chosen.authorization_endpoint, oauth_client(chosen, secrets.client_secret), chosen.user
    )


IMAP = Kind(
    "imap",
    ImapSettings,
    _open,
    secrets=ImapSecrets,
    check=_check,
    secret_targets=("host", "port", "security", "ca_certificates", "sign_in", "token_address"),
    permission_server=_permission_server,
)
