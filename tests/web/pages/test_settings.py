"""The pages of settings: what can be set and where, the fields of types, the installation."""

import httpx
import pytest
from pydantic import SecretStr

from docmill.service.app import Service
from docmill.service.config.bookkeeping import Bookkeeping
from docmill.service.config.settings import Aws, DocumentAi, Embedding, Llm, ReviewSettings, Settings
from docmill.service.config.user_schemas import OwnField, OwnSchema
from docmill.service.people.accounts import NewPerson
from docmill.service.people.sign_in import Visitor
from docmill.service.store import tenants
from docmill.web.access import SESSION_COOKIE
from docmill.web.view.installation import groups, reference
from support.people import PASSWORD


def names_of(settings: Settings) -> list[str]:
    return [setting.name for group in groups(settings) for setting in group.settings]


def test_every_setting_is_explained_once(settings: Settings) -> None:
    names = names_of(settings)

    assert len(names) == len(set(names))
    assert {"data_dir", "worker.batch", "understanding.small", "schemas", "review.sure"} <= set(names)
    assert all(meaning.words for meanings in reference().values() for meaning in meanings)


def test_a_setting_tells_where_it_was_set_and_no_secret(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCMILL_LLM__MODEL", "small-model")
    changed = settings.model_copy(
        update={
            "llm": Llm(model="small-model", api_key=SecretStr("sesame")),
            "review": ReviewSettings(sure=0.95),
        }
    )

    by_name = {setting.name: setting for group in groups(changed) for setting in group.settings}

    assert (by_name["llm.model"].value, by_name["llm.model"].origin) == ("small-model", "variable")
    assert (by_name["llm.api_key"].value, by_name["llm.api_key"].is_secret) == (None, True)
    assert (by_name["review.sure"].value, by_name["review.sure"].origin) == ("0.95", "file")
    assert (by_name["review.unsure"].value, by_name["review.unsure"].origin) == ("0.7", "default")
    assert "sesame" not in str(by_name)


def test_an_address_shows_no_user_no_password_and_no_query(settings: Settings) -> None:
    changed = settings.model_copy(
        update={
            "llm": Llm(base_url="https://robot:sesame@models.example/v1?key=sesame"),
            "embedding": Embedding(base_url="http://127.0.0.1:11434/v1"),
            "aws": Aws(endpoint="http://sesame@127.0.0.1:4566/"),
            "documentai": DocumentAi(endpoint="https://:sesame@proxy.example"),
        }
    )

    by_name = {setting.name: setting for group in groups(changed) for setting in group.settings}

    assert by_name["llm.base_url"].value == "https://models.example/v1?…"
    assert by_name["embedding.base_url"].value == "http://127.0.0.1:11434/v1"
    assert by_name["aws.endpoint"].value == "http://127.0.0.1:4566/"
    assert "sesame" not in str(by_name)


def test_a_table_shows_what_is_set_in_it(settings: Settings) -> None:
    own = {"poem": OwnSchema(fields={"verse": OwnField()})}
    changed = settings.model_copy(
        update={"bookkeeping": Bookkeeping(creditors={"DE123456789": 70001}), "schemas": own}
    )

    by_name = {setting.name: setting.value for group in groups(changed) for setting in group.settings}

    assert by_name["bookkeeping.creditors"] == "DE123456789: 70001"
    assert by_name["bookkeeping.input_tax_keys"] == "19: 9, 7: 8, 0"
    assert by_name["schemas"] == "poem"


async def test_the_settings_lead_to_every_page_where_something_is_set(client: httpx.AsyncClient) -> None:
    page = (await client.get("/settings")).text

    for address in (
        "/people",
        "/keys",
        "/audit-log",
        "/tags",
        "/bin",
        "/settings/installation",
        "/settings/types/invoice",
    ):
        assert f'href="{address}"' in page
        assert (await client.get(address)).status_code == 200
    assert "from 90 % on" in page


async def test_a_type_shows_its_fields(client: httpx.AsyncClient) -> None:
    page = (await client.get("/settings/types/invoice")).text

    assert "<h1>Invoice</h1>" in page
    assert "<code>lines[].net_amount</code>" in page
    assert "Line items: Net amount" in page
    assert (await client.get("/settings/types/poem")).status_code == 404


async def test_the_installation_shows_values_and_meanings(client: httpx.AsyncClient) -> None:
    page = (await client.get("/settings/installation")).text

    assert "<code>worker.lease_s</code>" in page
    assert "after so many seconds without a heartbeat" in page


class TestOwnSchemas:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        own = OwnSchema(
            fields={"verse": OwnField(choices=("free", "bound")), "lines": OwnField(kind="integer")},
            critical=("verse",),
        )
        return settings.model_copy(update={"schemas": {"poem": own}})

    async def test_a_schema_of_ones_own_is_among_the_types(self, client: httpx.AsyncClient) -> None:
        listed = (await client.get("/settings")).text
        page = (await client.get("/settings/types/poem")).text

        assert 'href="/settings/types/poem"' in listed
        assert "free, bound" in page
        assert "whole number" in page


class TestOtherOrganisations:
    async def test_the_installation_is_not_theirs(self, client: httpx.AsyncClient, service: Service) -> None:
        await service.accounts.create_first(NewPerson("anna@example.org", "Anna", PASSWORD), "Acme")
        async with service.database.accounts() as conn:
            other = await tenants.add(conn, "Other")
        bob, _ = await service.accounts.add("bob@example.org", "Bob", "owner", tenant_id=other)
        session = await service.sign_in.begin_session(bob, Visitor())
        client.cookies.set(SESSION_COOKIE, session.token)

        page = await client.get("/settings")

        assert page.status_code == 200
        assert 'href="/people"' in page.text
        assert "/settings/installation" not in page.text
        assert (await client.get("/settings/installation")).status_code == 404
