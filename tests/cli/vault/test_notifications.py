import json
from pathlib import Path

from support.commands import run_docmill
from support.http_receiver import receiving


def test_each_channel_is_tried_and_says_what_happened(tmp_path: Path) -> None:
    config = tmp_path / "docmill.toml"
    with receiving() as slack, receiving() as webhook:
        webhook.statuses = [403]
        config.write_text(
            f"""
            [web]
            public_url = "https://vault.example"
            [notifications]
            allow_private_addresses = true
            [notifications.slack]
            webhook_url = "{slack.url}"
            [notifications.webhook]
            url = "{webhook.url}"
            secret = "0123456789abcdef"
            """
        )

        listed = run_docmill("notify", "--config", config)
        tried = run_docmill("notify", "--test", "--config", config)

    assert (listed.returncode, listed.stdout.split()) == (0, ["slack", "webhook"])
    assert tried.returncode == 1, tried.stderr
    assert "slack: sent" in tried.stdout
    assert "notifications.webhook answered with HTTP 403; check its address and secret" in " ".join(
        tried.stdout.split()
    )
    ((_, _, body),) = slack.requests
    assert "this is a test message" in json.loads(body)["text"]


def test_without_a_channel_the_command_says_so(tmp_path: Path) -> None:
    config = tmp_path / "docmill.toml"
    config.write_text("")

    done = run_docmill("notify", "--test", "--config", config)

    assert done.returncode == 2
    assert "no channel is configured" in done.stderr
