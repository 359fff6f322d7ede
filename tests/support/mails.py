"""Made-up mails."""

from email.message import EmailMessage


def mail(
    number: int,
    *,
    subject: str = "",
    sender: str = "Shop <bills@shop.example>",
    body: str = "Hello, please find our invoice.",
    attachment: str | None = None,
    content: bytes = b"",
) -> bytes:
    """A mail, the same for the same arguments. attachment: the name of a file with the content."""
    message = EmailMessage()
    message["From"] = sender
    message["To"] = "anna@example.org"
    message["Subject"] = subject or f"Invoice {number}"
    message["Message-ID"] = f"<{number}@shop.example>"
    message.set_content(f"{body}\n{number}\n")
    if attachment is not None:
        message.add_attachment(
            content or b"%%PDF-1.7 %d" % number, "application", "octet-stream", filename=attachment
        )
        message.set_boundary(f"boundary-{number}")
    return message.as_bytes().replace(b"\n", b"\r\n")
