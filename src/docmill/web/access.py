"""Access to routes: each declares what it needs, and no request gets further without that.

A router is a `Router`; below the decorator of its method each route has `@needs(...)`. Who asks stands in
`request.state.access` then, and `TheVault` is bound to their tenant. Each change goes to the audit log under
the name of the route's function.
"""

from base64 import b64decode
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from urllib.parse import quote, urlsplit

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import Message

from docmill.service.people.access import Access, Scope, machine_access, signed_access
from docmill.service.people.permissions import RULES, Permission
from docmill.service.people.tokens import KEY_PREFIX, is_form_token
from docmill.service.store import audit_log
from docmill.web.checked_request import CheckedRequest
from docmill.web.languages import set_language
from docmill.web.security import SAFE_METHODS

if TYPE_CHECKING:
    from pydantic import JsonValue

    from docmill.web.context import Vault

SESSION_COOKIE = "docmill-session"
VISIT_COOKIE = "docmill-visit"
BROWSER_COOKIE = "docmill-browser"
MCP_PATH = "/mcp"
_OF_PROGRAMS = ("/api/", "/hooks/")
FORM_TOKEN = "form_token"  # noqa: S105  the name of a field
FORM_TOKEN_HEADER = "x-form-token"  # noqa: S105  the name of a header

Need = Permission | Literal["public", "signed in", "person"]
"""public: everybody. signed in: any person or API key of a tenant. person: somebody who has signed in, with
any role. The others are permissions, see `RULES`."""

FormCheck = Literal["checked", "streamed", "signed", "unchecked"]
"""The ways of checking the token of a form. streamed: the route reads the body itself, and calls
`check_form_token`. signed: the route reads the body itself, and takes it only if its sender signed it."""

_MOST_BYTES = 20_000_000
_MOST_PUBLIC_BYTES = 100_000
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a route needs. is_signable: a signed address is enough. is_logged: changes go to the audit log."""

    need: Need
    form: FormCheck = "checked"
    is_signable: bool = False
    is_logged: bool = True


def needs(
    need: Need, *, form: FormCheck = "checked", signable: bool = False, logged: bool = True
) -> Callable[[F], F]:
    """Declare what a route needs; stands below the decorator of its method.

    signable: a signed address is enough, see `SignedAddresses`. logged: False for what a page sends by itself
    or that stores nothing: it would drown the changes in the audit log.
    """

    def declare(endpoint: F) -> F:
        vars(endpoint)["declaration"] = Declaration(need, form, signable, logged)
        return endpoint

    return declare


def declaration_of(endpoint: Callable[..., Any]) -> Declaration:
    """Return what a route needs. Raises TypeError for one that declares nothing."""
    declaration = vars(endpoint).get("declaration")
    if not isinstance(declaration, Declaration):
        raise TypeError(
            f"the route {endpoint.__name__!r} declares no access: put @needs(...) above its function"
        )
    return declaration


class AccessRoute(APIRoute):
    """A route that is called once the request has what it needs; its body is read after that."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """See APIRoute."""
        handle = super().get_route_handler()
        declaration = declaration_of(self.endpoint)
        action = self.endpoint.__name__

        async def guarded(request: Request) -> Response:
            request = _checked_request(request, declaration)
            request.check_head()
            refusal = await _admit(request, declaration)
            if refusal is not None:
                return refusal
            response = await handle(request)
            if _is_change(request, declaration) and response.status_code < 400:  # noqa: PLR2004  not refused
                await log_change(request, action)
            return response

        return guarded


Router = partial(APIRouter, route_class=AccessRoute)


async def find_access(request: Request, *, is_activity: bool = True) -> Access | None:
    """Return who asks: an API key, a session, or this machine while the vault has no account.

    is_activity: whether a session lasts longer for it.
    """
    vault: Vault = request.app.state.vault
    service = vault.service
    secret = _key_in(request.headers.get("authorization", ""))
    if secret is not None:
        return await service.sign_in.of_key(secret)
    token = request.cookies.get(SESSION_COOKIE)
    if token:
        access = await service.sign_in.of_session(token, is_activity=is_activity)
        if access is not None:
            request.state.session_token = token
            return access
    if request.state.is_local and not await service.accounts.exist():
        return machine_access(service.default_tenant_id)
    return None


def _key_in(authorization: str) -> str | None:
    """Return the API key of a header; None if it has none.

    Programs for paperless-ngx send `Token KEY`, or `Basic` with the key as the password of any user. Another
    password is that of a proxy before the vault, and not heeded. No page here asks a browser for one, so none
    is sent without a person's will.
    """
    scheme, _, secret = authorization.partition(" ")
    if scheme.lower() in {"bearer", "token"}:
        return secret.strip()
    if scheme.lower() != "basic":
        return None
    try:
        password = b64decode(secret.strip(), validate=True).decode().partition(":")[2]
    except ValueError:
        return None
    return password if password.startswith(KEY_PREFIX) else None


async def _signed_access(request: Request, token: str) -> Access:
    """Return the access that a signed address gives. Raises HTTPException for a token that is not valid."""
    vault: Vault = request.app.state.vault
    signature = await vault.service.signed_addresses.verify(request.url.path, token)
    if signature is None:
        raise HTTPException(403, "This signed address is not valid, or not any more. Ask for a new one.")
    return signed_access(signature.tenant_id)


async def _admit(request: Request, declaration: Declaration) -> Response | None:
    """Set the access of a request; the way to the sign-in for who has none. Raises HTTPException."""
    request.state.audit_details = {}
    token = request.query_params.get("token") if declaration.is_signable else None
    access = await (find_access(request) if token is None else _signed_access(request, token))
    request.state.access = access
    if access is not None and access.language is not None and not request.url.path.startswith("/api/v"):
        set_language(access.language)
    need = declaration.need
    if need != "public":
        if access is None:
            return await _ask_to_sign_in(request)
        if need == "person" and not access.is_person:
            raise HTTPException(403, "Only a person who has signed in can do this.")
        missing = scopes_needed(need, request.url.path) - access.allows
        if missing:
            raise HTTPException(403, _reason(access, missing))
    if request.method not in SAFE_METHODS and declaration.form != "unchecked":
        await _check_token(request, access, declaration)
    return None


def scopes_needed(need: Need, path: str) -> frozenset[Scope]:
    """The scopes that a route needs. Every page shows something of documents, so that it needs `read`."""
    if need == "public" or need == "person" or need == "signed in":  # noqa: PLR1714  narrows the type
        return frozenset()
    of_page: frozenset[Scope] = frozenset() if is_for_programs(path) else frozenset({"read"})
    return RULES[need].scopes | of_page


def _reason(access: Access, missing: frozenset[Scope]) -> str:
    if access.tenant_id is None:
        return "You belong to no organisation (any more). Ask an owner to invite you."
    if access.via == "key":
        return f"This API key lacks {_named(missing)}."
    return f"Your role, {access.role}, does not allow this. Ask an owner of {access.tenant_name}."


def _named(scopes: frozenset[Scope]) -> str:
    names = " and ".join(repr(scope) for scope in sorted(scopes))
    return f"the scope {names}" if len(scopes) == 1 else f"the scopes {names}"


async def _ask_to_sign_in(request: Request) -> Response:
    """Send a person to the sign-in, and back here afterwards. Raises HTTPException for programs."""
    takes_keys = is_for_programs(request.url.path)
    if takes_keys or "text/html" not in request.headers.get("accept", ""):
        header = {"www-authenticate": 'Bearer realm="docmill"'} if takes_keys else None
        raise HTTPException(401, "Sign in first, or send an API key.", header)
    here = page_address(request)
    vault: Vault = request.app.state.vault
    page = "/login" if await vault.service.accounts.exist() else "/welcome"
    return RedirectResponse(f"{page}?next={quote(here)}" if here else page, 303)


def is_for_programs(path: str) -> bool:
    """True for a path of programs: errors are JSON there, and nobody is sent to the sign-in."""
    return path.startswith(_OF_PROGRAMS) or path == MCP_PATH


async def _check_token(request: Request, access: Access | None, declaration: Declaration) -> None:
    """Check the token of a form. A key or a program on the machine needs none: no browser adds it unasked."""
    if access is not None and access.is_person:
        secret = request.state.session_token
    elif declaration.need == "public":
        secret = request.cookies.get(VISIT_COOKIE, "")
    else:
        return
    request.state.form_secret = secret
    given = request.headers.get(FORM_TOKEN_HEADER)
    if given is None and declaration.form in {"streamed", "signed"}:
        return
    if given is None and request.headers.get("content-type", "").startswith(_FORMS):
        given = str((await request.form()).get(FORM_TOKEN, ""))
    try:
        _compare(given or "", secret)
    except HTTPException:
        await request.close()  # the files of the form
        raise
    request.state.form_secret = None


def check_form_token(request: Request, given: str) -> None:
    """Check the token in a form that a route reads itself, before anything of the form is used."""
    secret: str | None = getattr(request.state, "form_secret", None)
    if secret is not None:
        _compare(given, secret)


def _compare(given: str, secret: str) -> None:
    if not (secret and is_form_token(given, secret)):
        raise HTTPException(
            403,
            "This form is out of date: you have signed in or out since. Open its page again and repeat it.",
        )


def _is_change(request: Request, declaration: Declaration) -> bool:
    is_change = request.method not in SAFE_METHODS and declaration.need not in {"public", "read"}
    return is_change and declaration.is_logged


async def log_change(request: Request, action: str) -> None:
    """Write a change into the audit log of the tenant. Those of GET alone have to ask for it."""
    access: Access = request.state.access
    if access.tenant_id is None:
        return
    vault: Vault = request.app.state.vault
    details: dict[str, JsonValue] = request.state.audit_details
    parameters = {name: str(value) for name, value in request.path_params.items()}
    async with vault.service.database.tenant(access.tenant_id) as conn:
        await audit_log.add(
            conn,
            tenant_id=access.tenant_id,
            user_id=access.user_id,
            api_key_id=access.api_key_id,
            action=action,
            target=" ".join(parameters.values()) or None,
            details=details,
            address=client_address(request),
        )


def client_address(request: Request) -> str | None:
    """Return the address of the client."""
    return request.client.host[:100] if request.client else None


def page_address(request: Request) -> str:
    """Return the address of the page at hand; of one that answers a form, that of the form's page.

    A form cannot be sent again by its address. Empty where the browser does not tell its page.
    """
    try:
        url = request.url if request.method in SAFE_METHODS else urlsplit(request.headers.get("referer", ""))
    except ValueError:  # no address at all
        return ""
    address = url.path + (f"?{url.query}" if url.query else "")
    return local_address(address) if address else ""


def local_address(path: str) -> str:
    """Return `path` if it is an address of this vault, else that of the documents page."""
    leads_away = not path.startswith("/") or path.startswith("//") or "\\" in path
    return "/" if leads_away else path


def _checked_request(request: Request, declaration: Declaration) -> CheckedRequest:
    """Return the request with a check of its texts, and with an end to its body.

    Uploads have no such end: their files have a limit of their own.
    """
    receive: Callable[[], Awaitable[Message]] = request.receive
    send = request._send  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  FastAPI makes requests so, too
    if request.method in SAFE_METHODS or declaration.form in {"streamed", "signed"}:
        return CheckedRequest(request.scope, receive, send)
    most = _MOST_PUBLIC_BYTES if declaration.need == "public" else _MOST_BYTES
    received = 0

    async def receive_limited() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > most:
            raise HTTPException(413, f"The request is larger than {most:,} bytes.")
        return message

    return CheckedRequest(request.scope, receive_limited, send)
