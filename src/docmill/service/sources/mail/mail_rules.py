"""Rules by which a source takes some of the mails that arrive."""

from collections.abc import Sequence
from dataclasses import dataclass
from email.utils import getaddresses
from fnmatch import fnmatchcase

from docmill.service.intake.attachment_kinds import is_of_kind


@dataclass(frozen=True, slots=True)
class AttachmentName:
    """The name and the media type of an attachment, before it is opened."""

    name: str
    media_type: str


@dataclass(frozen=True, slots=True)
class MailRules:
    """Rules that a mail must all meet; an empty one takes every mail.

    senders: addresses, domains, and patterns with `*`, one of which must fit. subject_words: one of them must
    stand in the subject. attachment_kinds: one attachment at least must be of one of them.
    """

    senders: Sequence[str] = ()
    subject_words: Sequence[str] = ()
    attachment_kinds: Sequence[str] = ()

    def take(self, sender: str, subject: str, attachments: Sequence[AttachmentName] | None) -> bool:
        """True for a mail that is taken. attachments: None if they are not known; they fit then.

        The sender is what the mail says, which nobody has proved.
        """
        return (
            (not self.senders or any(fits_sender(sender, wanted) for wanted in self.senders))
            and (not self.subject_words or _has_word(subject, self.subject_words))
            and (
                not self.attachment_kinds
                or attachments is None
                or any(is_of_kind(file.name, self.attachment_kinds, file.media_type) for file in attachments)
            )
        )


def fits_sender(sender: str, wanted: str) -> bool:
    """True if the address in a field `From` is, or lies in, what a rule names.

    wanted: `bills@example.com`, `example.com` or `@example.com` with all its subdomains, `*@*.example.com`.
    """
    wanted = wanted.strip().lower()
    for _, found in getaddresses([sender]):
        address = found.lower()
        domain = address.rpartition("@")[2]
        if "*" in wanted or "?" in wanted:
            fits = fnmatchcase(address, wanted.replace("[", "[[]"))
        elif "@" in wanted.lstrip("@"):
            fits = address == wanted
        else:
            name = wanted.lstrip("@")
            fits = domain == name or domain.endswith(f".{name}")
        if domain != address and fits:
            return True
    return False


def _has_word(subject: str, words: Sequence[str]) -> bool:
    folded = " ".join(subject.casefold().split())
    return any(" ".join(word.casefold().split()) in folded for word in words)
