"""People for tests, and their browsers."""

import re
from dataclasses import dataclass

import httpx

PASSWORD = "correct horse battery"


@dataclass
class Browser:
    """A browser that fills in forms, as a person does without JavaScript."""

    client: httpx.AsyncClient

    async def open(self, path: str) -> httpx.Response:
        return await self.client.get(path, headers={"accept": "text/html"})

    async def send(self, page: str, path: str, **fields: object) -> httpx.Response:
        """Open a page, and send the form on it that leads to `path`, with its token."""
        html = (await self.open(page)).text
        token = token_in(html, path)
        return await self.client.post(
            path,
            data={**fields, "form_token": token},
            headers={"accept": "text/html", "sec-fetch-site": "same-origin"},
        )

    async def sign_in(self, email: str, password: str = PASSWORD) -> httpx.Response:
        return await self.send("/login", "/login", email=email, password=password)


def token_in(html: str, path: str) -> str:
    """The token of the form that leads to `path`."""
    form = re.search(rf'<form[^>]*action="{re.escape(path)}"[^>]*>(.*?)</form>', html, re.DOTALL)
    assert form, f"the page has no form to {path}"
    token = re.search(r'name="form_token" value="(\w+)"', form[1])
    return token[1] if token else ""
