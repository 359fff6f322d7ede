from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from docmill.service.app import Service
from docmill.service.config.secrets import Secrets
from docmill.service.config.settings import Settings
from support.http_receiver import Receiver, receiving
from support.webhook_tools import WebhookTools


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """With a key, and with receivers on this machine."""
    return settings.model_copy(
        update={
            "secrets": Secrets(key=SecretStr("k" * 32)),
            "webhooks": settings.webhooks.model_copy(
                update={"allow_private_addresses": True, "timeout_s": 5.0}
            ),
        }
    )


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def tools(service: Service) -> WebhookTools:
    return WebhookTools(service)
