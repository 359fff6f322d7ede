"""Names of kinds of sources, of their settings, and of what sources say about items, for people."""

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from docmill import errors
from docmill.service import sources
from docmill.service.intake import accept
from docmill.service.sources.mail import mail_addresses
from docmill.service.sources.registry import KINDS
from docmill.web.languages import gettext, gettext_noop
from docmill.web.view.settings_form import NAMED_FAULT, leaves_of

KIND_NAMES = {
    "folder": gettext_noop("Folder"),
    "imap": gettext_noop("Mailbox"),
    "gmail": gettext_noop("Gmail"),
    "graph": gettext_noop("Microsoft 365"),
    "smtp": gettext_noop("Mail server"),
    "bucket": gettext_noop("Bucket"),
    "ses": gettext_noop("Amazon SES"),
    "webhook": gettext_noop("Webhook"),
}
"""Short: they stand before the name of a source."""

KIND_MEANINGS = {
    "folder": gettext_noop("Files that are put into a folder of the server."),
    "imap": gettext_noop("Mails that come to a mailbox, read over IMAP."),
    "gmail": gettext_noop("Mails that come to a Gmail account."),
    "graph": gettext_noop("Mails that come to a mailbox of Microsoft 365."),
    "smtp": gettext_noop("Mails that are sent straight to this installation."),
    "bucket": gettext_noop("Objects that are put into a bucket, such as one of Amazon S3."),
    "ses": gettext_noop("Mails that Amazon SES receives."),
    "webhook": gettext_noop("Files that a program sends to an address of its own."),
}

_NAMES = {
    "path": gettext_noop("Path"),
    "poll_s": gettext_noop("Look every … seconds"),
    "stable_s": gettext_noop("Seconds without a change"),
    "limits": gettext_noop("Limits"),
    "documents_per_day": gettext_noop("Documents a day"),
    "per_second": gettext_noop("Documents a second"),
    "file_mb": gettext_noop("Largest file in MB"),
    "host": gettext_noop("Server"),
    "port": gettext_noop("Port"),
    "user": gettext_noop("User name"),
    "username": gettext_noop("User name"),
    "password": gettext_noop("Password"),
    "url": gettext_noop("Address"),
    "after": gettext_noop("Afterwards"),
    "prefix": gettext_noop("Beginning of the keys"),
    "key": gettext_noop("Key"),
    "security": gettext_noop("Encryption"),
    "push": gettext_noop("Told by the server at once"),
    "only_unseen": gettext_noop("Unread mails only"),
    "start": gettext_noop("Mails to take"),
    "identity": gettext_noop("Sign in with"),
    "keys": gettext_noop("Keys of its own"),
    "installation": gettext_noop("Identity of the installation"),
    "require": gettext_noop("Proof of the sender"),
    "suspicious": gettext_noop("Suspicious mails"),
    "read": gettext_noop("Mark as read"),
    "flag": gettext_noop("Mark with a flag"),
}
"""Of settings and of choices."""
_ACRONYMS = {
    **{name: name.upper() for name in ("api", "ca", "dkim", "id", "imap", "s3", "smtp", "sns", "spf", "sqs")},
    **{name: name.upper() for name in ("ssl", "starttls", "tls", "url")},
    "oauth": "OAuth",
    "oauth2": "OAuth 2",
}
"""Words that are written in a way of their own, also within a label."""
_UNITS = {"_s": " (s)", "_mb": " (MB)"}

METADATA = {
    "sender": gettext_noop("Sender"),
    "recipient": gettext_noop("Recipient"),
    "subject": gettext_noop("Subject"),
    "path": gettext_noop("Path"),
    "key": gettext_noop("Key"),
    "bucket": gettext_noop("Bucket"),
    "file_name": gettext_noop("File name"),
    "url": gettext_noop("Address"),
    "folder": gettext_noop("Folder"),
    "spf": gettext_noop("SPF"),
    "dkim": gettext_noop("DKIM"),
    "dmarc": gettext_noop("DMARC"),
    "spam": gettext_noop("Spam check"),
    "virus": gettext_noop("Virus check"),
}
"""The metadata of an item that are shown first, in this order."""

_ERRORS = {name for name in vars(errors) if name.endswith("Error")}
_NOT_SHOWN = frozenset({"part_of", "root_ingestion_id", "depth", "message_id", "etag", "version", "size"})


def kind_name(kind: str) -> str:
    """The name of a kind; of one without a name, its own."""
    return gettext(KIND_NAMES[kind]) if kind in KIND_NAMES else kind.capitalize()


def kind_meaning(kind: str) -> str:
    """A sentence about what arrives from sources of a kind; empty if that is not known."""
    return gettext(KIND_MEANINGS[kind]) if kind in KIND_MEANINGS else ""


def english_label(name: str) -> str:
    """The label of a setting, in English: its name in words, unless it has a better one."""
    if name in _NAMES:
        return _NAMES[name]
    for ending, unit in _UNITS.items():
        if name.endswith(ending):
            return english_label(name.removesuffix(ending)) + unit
    first, *others = name.split("_")
    return " ".join(
        [_ACRONYMS.get(first, first.capitalize()), *(_ACRONYMS.get(word, word) for word in others)]
    )


def said_of(metadata: Mapping[str, object]) -> list[tuple[str, str]]:
    """The metadata of an item, each with its name: first what people look for first."""
    others = [key for key in metadata if key not in METADATA and key not in _NOT_SHOWN]
    return [
        (gettext(METADATA[key]) if key in METADATA else key, str(metadata[key]))
        for key in (*METADATA, *others)
        if isinstance(metadata.get(key), str | int | float)
    ]


def source_texts() -> Iterator[str]:
    """The texts of the forms of all kinds, for the catalogues: labels, help, choices and faults."""
    for kind in KINDS.values():
        for model in (kind.settings, kind.secrets):
            for leaf in leaves_of(model):
                if leaf.name in kind.generated:
                    continue
                yield english_label(leaf.name.rpartition(".")[2])
                if leaf.help:
                    yield leaf.help
                yield from (english_label(choice) for choice in leaf.choices)
    for module in {mail_addresses.__name__, *(kind.settings.__module__ for kind in KINDS.values())}:
        yield from _fault_texts(inspect.getsource(sys.modules[module]))
    for path in sorted(Path(sources.__file__).parent.rglob("*.py")):
        yield from _error_texts(path.read_text())
    yield from _error_texts(inspect.getsource(accept))


def _fault_texts(source: str) -> Iterator[str]:
    """The texts of faults that validators of settings raise, as forms show them."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Raise(exc=ast.Call(func=ast.Name("ValueError"), args=[ast.Constant(value=str(text))])):
                named = NAMED_FAULT.fullmatch(text)
                yield named["words"] if named else text
            case _:
                pass


def _error_texts(source: str) -> Iterator[str]:
    """The messages of errors that name no value: why a source fails, or an item of it was refused."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name(name), args=[ast.Constant(value=str(text))]) if name in _ERRORS:
                yield text
            case _:
                pass
