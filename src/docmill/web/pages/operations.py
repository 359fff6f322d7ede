"""The operations page: queue, throughput, steps, workers, spend, and dead letters with their forms."""

import re
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Depends, Form, Request
from pydantic import BaseModel, Field
from starlette.responses import HTMLResponse, RedirectResponse

from docmill.service.dead_letters import Selection
from docmill.service.store import dead_letters, doc_sources, operations, pauses
from docmill.web.access import Router, needs
from docmill.web.api.shapes import WORD
from docmill.web.context import TheVault, parse_id
from docmill.web.view import source_words
from docmill.web.view.charts import HEIGHT, WIDTH, bar_chart

router = Router(include_in_schema=False)

PAGE_SIZE = 50
_MOST_AT_ONCE = 200
_MOST_DIGITS = 6
_Word = Annotated[str, Field(max_length=60)]


@dataclass(frozen=True, slots=True)
class LetterFilter:
    """The filter of dead letters in the address. Anything that is no word is ignored."""

    code: str = ""
    step: str = ""
    after: UUID | None = None

    @classmethod
    def of(cls, code: str = "", step: str = "", after: str = "") -> "LetterFilter":
        """Read it from the address or a form."""
        return cls(
            code if re.fullmatch(WORD, code) else "",
            step if re.fullmatch(WORD, step) else "",
            parse_id(after),
        )

    def link(self, **more: object) -> str:
        """The address of the page with this filter."""
        query = {"code": self.code, "step": self.step, **more}
        chosen = urlencode({key: value for key, value in query.items() if value not in ("", None)})
        return f"/ops?{chosen}#letters" if chosen else "/ops"

    @property
    def selection(self) -> Selection:
        """The dead letters that match."""
        return Selection(code=self.code or None, step=self.step or None)


@router.get("/ops")
@needs("read")
async def show_operations(
    request: Request,
    vault: TheVault,
    chosen: Annotated[LetterFilter, Depends(LetterFilter.of)],
    *,
    done: str = "",
    count: str = "",
) -> HTMLResponse:
    """How the processing of documents goes. done, count: what a form on the page has just done."""
    async with vault.connection() as conn:
        figures = await operations.operations(conn)
        letters = await dead_letters.page(
            conn,
            code=chosen.code or None,
            step=chosen.step or None,
            after=chosen.after,
            limit=PAGE_SIZE + 1,
        )
        matching = await operations.count_letters(conn, code=chosen.code or None, step=chosen.step or None)
        paused = await pauses.current(conn)
        sources = await doc_sources.every(conn)
    follow = chosen.link(after=letters[PAGE_SIZE - 1].id) if len(letters) > PAGE_SIZE else None
    return vault.templates.page(
        request,
        "ops.html",
        review_count=await vault.review_count(),
        figures=figures,
        matches=vault.service.matching is not None,
        chart=bar_chart(figures.hours),
        size=(WIDTH, HEIGHT),
        hours=operations.HOURS,
        days=operations.DAYS,
        chosen=chosen,
        letters=letters[:PAGE_SIZE],
        matching=matching,
        follow=follow,
        done=done if done in {"redriven", "discarded"} else "",
        count=int(count) if count.isdecimal() and len(count) <= _MOST_DIGITS else 0,
        pauses=paused,
        failing_sources=[row for row in sources if row.state == "active" and row.failures],
        source_words=source_words,
    )


class LettersForm(BaseModel):
    """The form that changes dead letters. match: all that match the filter, not only the marked ones."""

    ids: Annotated[list[UUID], Field(alias="id", max_length=_MOST_AT_ONCE)] = []
    match: bool = False
    code: _Word = ""
    step: _Word = ""

    @property
    def filter(self) -> LetterFilter:
        """The filter that the form keeps."""
        return LetterFilter.of(self.code, self.step)

    @property
    def selection(self) -> Selection:
        """The dead letters to change."""
        return self.filter.selection if self.match else Selection(ids=self.ids)


@router.post("/ops/letters/redrive")
@needs("write")
async def redrive_letters(vault: TheVault, form: Annotated[LettersForm, Form()]) -> RedirectResponse:
    """Try the documents of dead letters again: the marked ones, or all that match."""
    result = await vault.service.dead_letters.redrive(form.selection, tenant_id=vault.tenant_id)
    return RedirectResponse(form.filter.link(done="redriven", count=result.redriven), 303)


@router.post("/ops/letters/discard")
@needs("administer")
async def discard_letters(vault: TheVault, form: Annotated[LettersForm, Form()]) -> RedirectResponse:
    """Discard dead letters: the marked ones, or all that match. Their documents stay failed."""
    purged = await vault.service.dead_letters.purge(form.selection, tenant_id=vault.tenant_id)
    return RedirectResponse(form.filter.link(done="discarded", count=purged), 303)


@router.get("/ops/letters/redrive")
@router.get("/ops/letters/discard")
@needs("read")
async def back() -> RedirectResponse:
    """Go to the page: a refused form leaves the browser at this address."""
    return RedirectResponse("/ops", 303)
