"""Pages for people who have not signed in: sign-in, first account, invitation, new password."""

import logging
from typing import Annotated
from uuid import UUID

from fastapi import BackgroundTasks, Form, Query, Request
from starlette.background import BackgroundTask
from starlette.responses import RedirectResponse, Response

from docmill.errors import DocmillError, NetworkError, RateLimitedError, ValidationError
from docmill.service.people.accounts import LinkIsOverError, NewPerson
from docmill.service.people.passwords import SHORTEST
from docmill.service.people.sign_in import NewSession, SignInRefusedError, Visitor
from docmill.service.people.tokens import new_token
from docmill.web.access import (
    BROWSER_COOKIE,
    SESSION_COOKIE,
    VISIT_COOKIE,
    Router,
    client_address,
    local_address,
    needs,
)
from docmill.web.addresses import absolute_address
from docmill.web.context import TheVault, Vault
from docmill.web.languages import current_language, gettext, gettext_noop, in_language
from docmill.web.problems import status_of

log = logging.getLogger(__name__)

router = Router(include_in_schema=False)

_Typed = Annotated[str, Form()]
_DAY_S = 24 * 3600
_BROWSER_DAYS = 365
# No mail has a text that somebody chose, such as a name: whoever has an account, also one whose address was
# never proven, could send it to others under the name of the vault.
_MAIL_TEXT = gettext_noop("""Hello,

somebody, probably you, asked for a new password for docmill. This link sets it. It works once, for a day:

%(link)s

If it was not you, ignore this mail: nothing has changed.
""")


def visitor_of(request: Request) -> Visitor:
    """Return where a request came from."""
    browser = request.cookies.get(BROWSER_COOKIE)
    return Visitor(client_address(request), request.headers.get("user-agent"), browser)


async def trust_browser(
    request: Request, response: Response, vault: Vault, user_id: UUID, *, alone: bool = False
) -> None:
    """Have the browser keep that the person has signed in there; see `SignIn.trust_browser`."""
    secret = await vault.service.sign_in.trust_browser(user_id, visitor_of(request), alone=alone)
    response.set_cookie(
        BROWSER_COOKIE,
        secret,
        max_age=_BROWSER_DAYS * _DAY_S,
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )


def set_session_cookie(request: Request, response: Response, token: str, vault: Vault) -> None:
    """Have the browser keep the token of a session."""
    response.set_cookie(
        SESSION_COOKIE,
        token,
        max_age=round(vault.settings.web.session_days * _DAY_S),
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )
    response.delete_cookie(VISIT_COOKIE)


def visit_page(
    request: Request, vault: Vault, name: str, *, status: int = 200, **content: object
) -> Response:
    """Render a page whose form is bound to a cookie of this visit."""
    known = request.cookies.get(VISIT_COOKIE)
    request.state.visit_token = known or new_token()
    openid = vault.service.openid
    content = {
        "message": "",
        "shortest_password": SHORTEST,
        "is_limited": False,
        "openid": openid.label if openid.is_set_up else "",
        **content,
    }
    response = vault.templates.page(request, name, status_code=status, **content)
    if not known:
        response.set_cookie(
            VISIT_COOKIE,
            request.state.visit_token,
            httponly=True,
            samesite="lax",
            secure=request.url.scheme == "https",
        )
    return response


async def enter(request: Request, vault: Vault, session: NewSession, to: str) -> Response:
    """Send a person to a page of the vault with their new session."""
    response = RedirectResponse(local_address(to), 303)
    set_session_cookie(request, response, session.token, vault)
    await trust_browser(request, response, vault, session.user_id)
    return response


@router.get("/login")
@needs("public")
async def show_login(
    request: Request,
    vault: TheVault,
    *,
    to: Annotated[str, Query(alias="next")] = "/",
    changed: str = "",
) -> Response:
    """The sign-in; for who has signed in, where they wanted to go."""
    if vault.bound_to is not None and vault.bound_to.is_person:
        return RedirectResponse(local_address(to), 303)
    if not await vault.service.accounts.exist():
        return RedirectResponse("/welcome", 303)
    return visit_page(
        request, vault, "login.html", next=local_address(to), email="", is_changed=bool(changed)
    )


@router.post("/login")
@needs("public")
async def sign_in(
    request: Request,
    vault: TheVault,
    *,
    email: _Typed = "",
    password: _Typed = "",
    to: Annotated[str, Form(alias="next")] = "/",
) -> Response:
    """Begin a session, and go where the person wanted to go."""
    before = vault.bound_to
    try:
        session = await vault.service.sign_in.sign_in(email, password, visitor_of(request))
    except (SignInRefusedError, RateLimitedError) as error:
        status = 401 if isinstance(error, SignInRefusedError) else status_of(error)
        response = visit_page(
            request,
            vault,
            "login.html",
            status=status,
            next=local_address(to),
            email=email[:254],
            is_changed=False,
            message=error.message,
            is_limited=isinstance(error, RateLimitedError),
        )
        if isinstance(error, RateLimitedError):
            response.headers["retry-after"] = str(round(error.retry_after_s or 0))
        elif error.user_id is not None:
            log_refusal = vault.service.sign_in.log_refusal
            response.background = BackgroundTask(log_refusal, error.user_id, visitor_of(request))
        return response
    if before is not None and before.session_id is not None:
        await vault.service.sign_in.end_session(before.session_id, before.user_id)
    return await enter(request, vault, session, to)


@router.post("/logout")
@needs("person")
async def sign_out(vault: TheVault) -> Response:
    """End this session."""
    assert vault.access.session_id is not None, "a person has one"
    await vault.service.sign_in.end_session(vault.access.session_id, vault.user_id)
    response = RedirectResponse("/login", 303, {"clear-site-data": '"cache"'})
    response.delete_cookie(SESSION_COOKIE)
    return response


@router.get("/welcome")
@needs("public")
async def show_welcome(request: Request, vault: TheVault, *, token: str = "") -> Response:
    """The form for the first account."""
    if await vault.service.accounts.exist():
        return RedirectResponse("/login", 303)
    may_begin = await _may_make_first(request, vault, token)
    return visit_page(
        request,
        vault,
        "welcome.html",
        status=200 if may_begin else 403,
        may_begin=may_begin,
        token=token,
        typed=NewPerson("", "", ""),
        organisation="",
    )


@router.post("/welcome")
@needs("public")
async def create_first_account(
    request: Request,
    vault: TheVault,
    *,
    token: _Typed = "",
    organisation: _Typed = "",
    name: _Typed = "",
    email: _Typed = "",
    password: _Typed = "",
) -> Response:
    """Make the first account and name the organisation; from now on the vault asks everybody to sign in."""
    if await vault.service.accounts.exist():
        return RedirectResponse("/login", 303)
    person, may_begin = NewPerson(email, name, password), await _may_make_first(request, vault, token)
    try:
        if not may_begin:
            raise LinkIsOverError("This link does not work (any more). `docmill up` prints a new one.")
        user_id = await vault.service.accounts.create_first(person, organisation)
    except DocmillError as error:
        return visit_page(
            request,
            vault,
            "welcome.html",
            status=status_of(error),
            may_begin=may_begin,
            token=token,
            typed=person,
            organisation=organisation,
            message=error.message,
        )
    session = await vault.service.sign_in.begin_session(user_id, visitor_of(request), by="first account")
    return await enter(request, vault, session, "/")


async def _may_make_first(request: Request, vault: Vault, token: str) -> bool:
    """Return whether a visitor is on this machine or has the link of `docmill up`."""
    return request.state.is_local or bool(token and await vault.service.accounts.is_first_link(token))


@router.get("/join")
@needs("public")
async def show_invitation(request: Request, vault: TheVault, *, token: str = "") -> Response:
    """An invitation, with the form to accept it."""
    invitation = await vault.service.invitations.of_token(token)
    typed = NewPerson(invitation.email or "", "", "")
    return visit_page(request, vault, "join.html", invitation=invitation, token=token, typed=typed)


@router.post("/join")
@needs("public")
async def accept_invitation(
    request: Request,
    vault: TheVault,
    *,
    token: _Typed = "",
    name: _Typed = "",
    email: _Typed = "",
    password: _Typed = "",
) -> Response:
    """Accept an invitation, with a new account or the one that the person has signed in with."""
    invitations, visitor = vault.service.invitations, visitor_of(request)
    invitation, person = await invitations.of_token(token), NewPerson(email, name, password)
    access = vault.bound_to
    try:
        if access is not None and access.is_person:
            tenant_id = await invitations.accept_as(token, access.user_id, visitor.address)
            user_id = access.user_id
        else:
            user_id, tenant_id = await invitations.accept(token, person, visitor.address)
    except ValidationError as error:
        return visit_page(
            request,
            vault,
            "join.html",
            status=422,
            invitation=invitation,
            token=token,
            typed=person,
            message=error.message,
        )
    if access is not None and access.session_id is not None:
        await vault.service.sign_in.end_session(access.session_id, access.user_id)
    session = await vault.service.sign_in.begin_session(
        user_id, visitor, tenant_id=tenant_id, by="invitation"
    )
    return await enter(request, vault, session, "/")


@router.get("/forgotten")
@needs("public")
async def show_forgotten(request: Request, vault: TheVault) -> Response:
    """The form that asks for a link by mail."""
    return visit_page(request, vault, "forgotten.html", is_sent=False, by_mail=vault.service.mailer.is_set_up)


@router.post("/forgotten")
@needs("public")
async def send_password_link(
    request: Request, vault: TheVault, tasks: BackgroundTasks, *, email: _Typed = ""
) -> Response:
    """Send a link for a new password, if there is such an account; the answer does not tell.

    The account is looked up after the answer, so that the time does not tell either.
    """
    by_mail = vault.service.mailer.is_set_up
    try:
        await vault.service.sign_in.count_reset(email, visitor_of(request))
    except RateLimitedError as error:
        return visit_page(
            request,
            vault,
            "forgotten.html",
            status=429,
            is_sent=False,
            by_mail=by_mail,
            message=error.message,
        )
    if by_mail:
        tasks.add_task(
            _mail_password_link,
            vault,
            email,
            absolute_address(request, "/password"),
            language=current_language(),
        )
    return visit_page(request, vault, "forgotten.html", is_sent=by_mail, by_mail=by_mail)


async def _mail_password_link(vault: Vault, email: str, address: str, *, language: str) -> None:
    """language: of the visitor, for a person who has chosen none."""
    user = await vault.service.accounts.by_email(email)
    if user is None:
        return
    token = await vault.service.accounts.password_link(user.id)
    with in_language(user.language or language):
        subject = gettext("A new password for docmill")
        text = gettext(_MAIL_TEXT, link=f"{address}?token={token}")
    try:
        await vault.service.mailer.send(user.email, subject, text)
    except NetworkError as error:
        log.error("a link for a new password could not be sent", extra={"reason": error.message})  # noqa: TRY400  no traceback is needed


@router.get("/password")
@needs("public")
async def show_new_password(request: Request, vault: TheVault, *, token: str = "") -> Response:
    """The form for a new password."""
    user = await vault.service.accounts.user_of_password_link(token)
    return visit_page(request, vault, "password.html", token=token, email=user.email)


@router.post("/password")
@needs("public")
async def set_password(
    request: Request, vault: TheVault, *, token: _Typed = "", password: _Typed = ""
) -> Response:
    """Set the password, and go to the sign-in."""
    user = await vault.service.accounts.user_of_password_link(token)
    try:
        await vault.service.accounts.set_password(token, password)
    except LinkIsOverError:
        raise
    except ValidationError as error:
        return visit_page(
            request, vault, "password.html", status=422, token=token, email=user.email, message=error.message
        )
    response = RedirectResponse("/login?changed=1", 303)
    await trust_browser(request, response, vault, user.id, alone=True)
    return response
