"""Invitations as pages and API make them: by mail where there is a server, else as a link to pass on."""

from uuid import UUID

from starlette.exceptions import HTTPException
from starlette.requests import Request

from docmill.errors import NetworkError
from docmill.service.people.permissions import may_give
from docmill.service.store import handovers
from docmill.service.store.handovers import HandoverKind
from docmill.service.store.memberships import Role
from docmill.web.addresses import absolute_address
from docmill.web.context import Vault, not_found
from docmill.web.languages import gettext, gettext_noop

_TEXT = gettext_noop("""Hello,

you are invited to join an organisation in docmill. This link shows which one, and lets you join. It works
once, for seven days:

%(link)s

If you do not expect this, ignore this mail: nothing happens then.
""")


def check_may_give(vault: Vault, role: Role) -> None:
    """Check that who asks may give a role to others. Raises HTTPException with the status 403."""
    if not may_give(vault.access, role):
        raise HTTPException(
            403,
            f"This API key cannot make somebody a {role}: a key gives no role that may more than the key, and"
            " owners are made by people.",
        )


async def keep_thing(vault: Vault, kind: HandoverKind, thing_id: UUID) -> None:
    """Have the person who asks answer for a key, webhook or source. Answers 403 to keys, 404 for none."""
    if vault.access.via == "key":
        raise HTTPException(403, "Only a person can answer for this from now on.")
    async with vault.connection() as conn:
        if not await handovers.keep(conn, kind, thing_id, vault.user_id):
            raise not_found(kind)


async def invite_person(request: Request, vault: Vault, role: Role, email: str | None) -> str | None:
    """Make an invitation; its link, to be passed on, or None if it was mailed to the address.

    A mailed link is shown to nobody else, so that it proves the address of who opens it. Without a mail
    server or an address, the link is shown. Raises ValidationError, RateLimitedError after too many mails,
    and NetworkError if the mail could not be sent: there is no invitation then.
    """
    check_may_give(vault, role)
    email = (email or "").strip() or None
    is_mailed = email is not None and vault.service.mailer.is_set_up
    invitations = vault.service.invitations
    if is_mailed:
        await invitations.count_mail(vault.tenant_id)
    token = await invitations.invite(
        role,
        tenant_id=vault.tenant_id,
        email=email,
        invited_by=vault.user_id,
        is_mailed=is_mailed,
        api_key_id=vault.access.api_key_id,
    )
    vault.audit_details.update({"role": role, "email": email})
    link = absolute_address(request, "/join", token=token)
    if not is_mailed or email is None:
        return link
    try:
        await vault.service.mailer.send(email, gettext("An invitation to docmill"), gettext(_TEXT, link=link))
    except NetworkError:
        await invitations.withdraw(token)
        raise
    return None
