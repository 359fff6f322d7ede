import json
from typing import Any

import pytest

from docmill.service.sources.bucket.s3_events import UnknownMessageError
from docmill.service.sources.ses.ses_messages import ReceivedMail, received_mails, tokens, with_header

TOKEN = "a1b2c3d4e5"


def receipt(**more: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "notificationType": "Received",
        "mail": {"messageId": "m", "source": "anna@example.com", "destination": ["x@example.com"]},
        "receipt": {
            "recipients": [f"Invoices+{TOKEN.upper()}@example.com"],
            "spfVerdict": {"status": "PASS"},
            "dkimVerdict": {"status": "GRAY"},
            "dmarcVerdict": {"status": "PROCESSING_FAILED"},
            "spamVerdict": {"status": "FAIL"},
            "virusVerdict": {"status": {"nonsense": 1}},
            "action": {"type": "S3", "bucketName": "emails", "objectKey": "in/m", "topicArn": "t"},
            **more,
        },
    }


def in_sns(message: dict[str, Any]) -> str:
    return json.dumps({"Type": "Notification", "Message": json.dumps(message)})


def test_a_receipt_tells_recipients_and_verdicts() -> None:
    for body in (in_sns(receipt()), json.dumps(receipt())):
        (mail,) = received_mails(body)
        assert (mail.bucket, mail.key) == ("emails", "in/m")
        assert mail.verdicts == {
            "spf": "pass",
            "dkim": "gray",
            "dmarc": "processing_failed",
            "spam": "fail",
            "virus": "unknown",
        }
        assert tokens(mail) == {TOKEN: f"Invoices+{TOKEN.upper()}@example.com"}


@pytest.mark.parametrize(
    "message",
    [
        receipt(action={"type": "SNS"}),
        receipt(action={"type": "S3", "bucketName": "emails", "objectKey": ""}),
        receipt(recipients="x"),
        {"notificationType": "Received"},
        {"notificationType": "Bounce"},
    ],
)
def test_what_tells_of_no_mail_in_a_bucket_is_unknown(message: dict[str, Any]) -> None:
    with pytest.raises(UnknownMessageError):
        received_mails(json.dumps(message))


def test_the_first_object_of_a_rule_is_no_mail() -> None:
    entry = {"bucket": {"name": "emails"}, "object": {"key": "in/AMAZON_SES_SETUP_NOTIFICATION"}}
    body = json.dumps({"Records": [{"eventName": "ObjectCreated:Put", "s3": entry}]})

    assert received_mails(body) == []


def test_without_a_receipt_the_header_tells_what_it_can() -> None:
    content = (
        b"Return-Path: <anna@example.com>\r\n"
        b"Received: from mail.example.com by inbound-smtp.eu-west-1.amazonaws.com with SMTP id x\r\n"
        b" for hidden+0000000000@example.com; Thu, 01 Jan 2026 10:00:00 +0000 (UTC)\r\n"
        b"X-SES-Spam-Verdict: PASS\r\n"
        b"X-SES-Virus-Verdict: FAIL\r\n"
        b"Authentication-Results: amazonses.com; spf=pass (ok) x; dkim=fail header.i=@x\r\n"
        b"X-SES-Virus-Verdict: PASS\r\n"
        b"Authentication-Results: forged; spf=fail\r\n"
        b"To: Bills <bills+1111111111@example.com>, other@example.com\r\n"
        b"\r\nto+2222222222@example.com"
    )

    mail = with_header(ReceivedMail("emails", f"{TOKEN}/m"), content)

    assert mail.verdicts == {"spam": "pass", "virus": "fail", "spf": "pass", "dkim": "fail"}
    assert set(tokens(mail)) == {"0000000000", "1111111111", TOKEN}


def test_a_receipt_is_believed_more_than_the_header() -> None:
    (mail,) = received_mails(json.dumps(receipt()))

    assert with_header(mail, b"To: x+9999999999@example.com\r\n\r\n") is mail
