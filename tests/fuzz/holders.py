"""Mails, mailboxes and archives to damage."""

import base64
import io
import struct
import zipfile
from collections.abc import Mapping

from docmill.reading.mail import mapi
from support.compound_files import attachment, compound, message, within

MAIL = b"""From: a@example.org\r\nTo: b@example.org\r\nSubject: =?utf-8?q?Rechnung_7?=\r\nMIME-Version: 1.0
Content-Type: multipart/mixed; boundary="x"\r\n\r\n--x\r\nContent-Type: text/html; charset=iso-8859-1\r\n
<p>Anbei</p>\r\n--x\r\nContent-Type: text/csv; name="a.csv"\r\nContent-Transfer-Encoding: base64
Content-Disposition: attachment; filename="a.csv"\r\n\r\nYTtiCjE7Mgo=\r\n--x--\r\n"""
BOX = b"".join(b"From a@example.org Tue Mar  5 10:00:00 2024\r\n" + MAIL + b"\r\n" for _ in range(2))


def holders() -> dict[str, list[bytes]]:
    """Files by their kind."""
    return {
        "eml": [MAIL, _signed_mail()],
        "mbox": [BOX],
        "msg": [_outlook()],
        "tnef": [_winmail()],
        "zip": [zipped({"a/invoice.txt": b"Invoice 7", "b.zip": b"PK"})],
    }


def zipped(members: Mapping[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def signed(content: bytes) -> bytes:
    """What S/MIME makes of a mail to be signed (RFC 5652), without any signature."""
    signed_data = bytes.fromhex("06092a864886f70d010702")
    data = bytes.fromhex("06092a864886f70d010701")
    head = _der(0x02, b"\x01") + _der(0x31, _der(0x30))
    wrapped = _der(0x30, data, _der(0xA0, _der(0x24, _der(0x04, content[:9]), _der(0x04, content[9:]))))
    return _der(0x30, signed_data, _der(0xA0, _der(0x30, head, wrapped, _der(0x31))))


def _der(tag: int, *contents: bytes) -> bytes:
    content = b"".join(contents)
    length = bytes([len(content)]) if len(content) < 0x80 else b"\x82" + len(content).to_bytes(2)
    return bytes([tag]) + length + content


def _signed_mail() -> bytes:
    head = b"From: a@example.org\r\nTo: b@example.org\r\nContent-Type: application/pkcs7-mime\r\n"
    return head + b"Content-Transfer-Encoding: base64\r\n\r\n" + base64.encodebytes(signed(MAIL))


def _outlook() -> bytes:
    """A message with a file and another message."""
    file = attachment({mapi.LONG_NAME: "a.csv"}, {mapi.CONTENT: b"a;b\n1;2\n"})
    inner = message(texts={mapi.SUBJECT: "inner", mapi.BODY: "Anbei"})
    return compound(message(file, within(inner), texts={mapi.SUBJECT: "Rechnung 7", mapi.BODY: "Anbei"}))


def _winmail() -> bytes:
    """A subject, a sender, a file."""
    name = "a.csv".encode("utf-16-le") + b"\0\0"
    properties = struct.pack("<LHHLL", 1, 0x1F, mapi.LONG_NAME, 1, len(name)) + name
    attributes = {
        0x9007: struct.pack("<LL", 1252, 0),
        0x8004: b"Rechnung 7\0",
        0x9002: bytes(14),
        0x8010: b"A~1.CSV\0",
        0x800F: b"a;b\n1;2\n",
        0x9005: properties + bytes(-len(name) % 4),
    }
    return struct.pack("<LH", 0x223E9F78, 1) + b"".join(
        struct.pack("<BLL", 1, number, len(data)) + data + struct.pack("<H", sum(data) & 0xFFFF)
        for number, data in attributes.items()
    )
