"""The forms by which a person says what the values of a document are; no script is needed for any of it."""

import re
from collections.abc import Awaitable, Callable
from html import unescape
from typing import Any
from uuid import UUID

import httpx

Read = Callable[..., Awaitable[UUID]]


def _form(page: str, path: str) -> dict[str, str]:
    """What the form of a value would send as it stands."""
    form = next(
        form for form in re.findall(r"<form.+?</form>", page, re.DOTALL) if f'data-path="{path}"' in form
    )
    hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="(.*?)"', form))
    (value,) = re.findall(r'-value" value="(.*?)"|<textarea.*?>\n(.*?)</textarea>', form, re.DOTALL)
    return {
        name: unescape(text) for name, text in {**hidden, "value": "".join(value), "action": "say"}.items()
    }


async def _page(client: httpx.AsyncClient, document_id: UUID, query: str = "") -> str:
    response = await client.get(f"/docs/{document_id}{query}")
    assert response.status_code == 200
    return response.text


async def _say(
    client: httpx.AsyncClient, document_id: UUID, path: str, query: str = "", **changes: str
) -> httpx.Response:
    form = _form(await _page(client, document_id, query), path)
    return await client.post(f"/docs/{document_id}/reviews", data={**form, **changes})


async def _add(client: httpx.AsyncClient, document_id: UUID, path: str, value: str) -> httpx.Response:
    """Say what a value is that has no form of its own."""
    (form,) = re.findall(
        r'<details class="missing">.+?</details>', await _page(client, document_id), re.DOTALL
    )
    hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="(.*?)"', form))
    said = {**hidden, "path": path, "value": value, "action": "say"}
    return await client.post(f"/docs/{document_id}/reviews", data=said)


async def _data(client: httpx.AsyncClient, document_id: UUID) -> dict[str, Any]:
    return (await client.get(f"/api/v1/documents/{document_id}")).json()["data"]


async def test_a_value_sent_as_it_was_shown_is_confirmed(client: httpx.AsyncClient, read: Read) -> None:
    document_id = await read()

    sent = await _say(client, document_id, "seller.name")
    page = await _page(client, document_id)

    assert sent.status_code == 303
    assert sent.headers["location"] == f"/docs/{document_id}?page=1&field=seller.name#field-seller-name"
    assert '<form class="field confirmed" id="field-seller-name"' in page
    assert "<span>Confirmed</span>" in page


async def test_another_value_is_a_correction_that_tells_what_was_read(
    client: httpx.AsyncClient, read: Read
) -> None:
    document_id = await read()

    sent = await _say(client, document_id, "gross_total", value=" 1.012,90 € ")
    page = await _page(client, document_id)

    assert sent.status_code == 303
    assert (await _data(client, document_id))["gross_total"] == "1012.90"
    assert "Read as “12.90”." in page
    assert "Corrected to <q>1012.90</q>" in page


async def test_an_emptied_value_is_cleared_and_one_undone_is_back(
    client: httpx.AsyncClient, read: Read
) -> None:
    document_id = await read()

    await _say(client, document_id, "currency", value="")
    cleared = await _data(client, document_id)
    page = await _page(client, document_id)
    await _say(client, document_id, "currency", action="undo")
    restored = await _page(client, document_id)

    assert cleared["currency"] is None
    assert "<span>Not on the document</span>" in page
    assert (await _data(client, document_id))["currency"] == "EUR"
    assert "Taken back to <q>EUR</q>" in restored
    assert '<form class="field confirmed" id="field-currency"' not in restored


async def test_what_is_refused_stays_in_its_field_with_the_reason(
    client: httpx.AsyncClient, read: Read
) -> None:
    document_id = await read()

    sent = await _say(client, document_id, "issue_date", value="03/11/2026")

    assert sent.status_code == 422
    assert 'value="03/11/2026"' in sent.text
    assert "Day or month first?" in sent.text
    assert 'aria-invalid="true" autofocus' in sent.text
    assert (await _data(client, document_id))["issue_date"] == "2026-11-03"
    again = await client.get(f"/docs/{document_id}/reviews?page=2")
    assert again.headers["location"] == f"/docs/{document_id}?page=2"


async def test_a_text_without_a_letter_or_digit_is_refused(client: httpx.AsyncClient, read: Read) -> None:
    document_id = await read()
    before = (await _data(client, document_id))["seller"]

    sent = await _say(client, document_id, "seller.name", value="\u202e\u200b")

    assert sent.status_code == 422
    assert "no letter or digit" in sent.text
    assert (await _data(client, document_id))["seller"] == before


async def test_nothing_is_confirmed_while_a_field_shows_what_was_refused(
    client: httpx.AsyncClient, read: Read
) -> None:
    document_id = await read()
    refused = await _say(client, document_id, "issue_date", value="03/11/2026")
    confirm = refused.text[refused.text.index('id="confirm-all"') :].split("</form>")[0]
    hidden = dict(re.findall(r'name="(\w+)" value="([^"]*)"', confirm))

    sent = await client.post(f"/docs/{document_id}/reviews/confirm", data=hidden)
    state = (await client.get(f"/api/v1/documents/{document_id}/reviews")).json()

    assert (hidden["refused"], hidden["typed"]) == ("issue_date", "03/11/2026")
    assert sent.status_code == 422
    assert "Nothing was confirmed, because this is not saved." in sent.text
    assert 'value="03/11/2026"' in sent.text
    assert state["current"] == {}


async def test_what_changed_meanwhile_is_not_overwritten(client: httpx.AsyncClient, read: Read) -> None:
    document_id = await read()
    form = _form(await _page(client, document_id), "seller.name")
    await _say(client, document_id, "seller.name", value="Corner")

    sent = await client.post(f"/docs/{document_id}/reviews", data={**form, "value": "Bakery"})

    assert sent.status_code == 409
    assert "Somebody has changed this value meanwhile." in sent.text
    assert (await _data(client, document_id))["seller"]["name"] == "Corner"


async def test_everything_is_confirmed_at_once_and_taken_back_at_once(
    client: httpx.AsyncClient, read: Read
) -> None:
    broken: dict[str, Any] = {"check": "rule", "message": "The file breaks a rule.", "fields": []}
    document_id = await read(verdict={"failures": [broken]}, valid_structured_data=False)
    of = {"ingestion_id": _form(await _page(client, document_id), "currency")["ingestion_id"]}

    refused = await client.post(f"/docs/{document_id}/reviews/confirm", data=of)
    confirmed = await client.post(
        f"/docs/{document_id}/reviews/confirm", data={**of, "reason": "seen on paper"}
    )
    page = await _page(client, document_id)
    history = await _page(client, document_id, "?tab=history")
    await client.post(f"/docs/{document_id}/reviews/undo", data=of)
    undone = await _page(client, document_id)

    assert refused.status_code == 422
    assert "still open" in refused.text
    assert confirmed.headers["location"] == f"/docs/{document_id}?page=1#panel"
    assert "Confirmed unseen: seen on paper" in history
    assert "Every value was checked by a person" in page
    assert "Accepted by a person: The file breaks a rule." in page
    assert 'id="confirm-all"' not in page
    assert 'id="confirm-all"' in undone
    assert 'id="undo-last"' not in undone


async def test_a_cell_of_a_table_has_its_form_below_the_table(client: httpx.AsyncClient, read: Read) -> None:
    document_id = await read()
    path = "lines[0].net_amount"

    sent = await _say(client, document_id, path, f"?field={path}", value="4.60")

    assert sent.status_code == 303
    assert (await _data(client, document_id))["lines"][0]["net_amount"] == "4.60"


async def test_a_document_that_is_not_there_takes_no_word(client: httpx.AsyncClient, read: Read) -> None:
    document_id = await read()
    form = _form(await _page(client, document_id), "currency")
    nobody = "01890000-0000-7000-8000-000000000000"

    answers = [
        await client.post(f"/docs/{nobody}/reviews", data=form),
        await client.post(f"/docs/{nobody}/reviews/confirm", data=form),
        await client.post("/docs/nonsense/reviews/undo", data=form),
    ]

    assert [answer.status_code for answer in answers] == [404, 404, 404]


async def test_what_was_read_otherwise_since_is_told(
    client: httpx.AsyncClient, read: Read, finish: Callable[..., Awaitable[None]]
) -> None:
    document_id = await read()
    await _say(client, document_id, "currency", value="USD")
    await client.post(f"/api/v1/documents/{document_id}/reprocess")
    await finish(document_id, structured_data={"currency": "GBP", "number": None})

    page = await _page(client, document_id)

    assert "Processed again, this was read as “GBP”. The reviewed value stays." in page
    assert (await _data(client, document_id))["currency"] == "USD"


async def test_what_is_missing_can_be_confirmed_or_given(client: httpx.AsyncClient, read: Read) -> None:
    missing = {"check": "critical_missing", "message": "Number was not found.", "fields": ["number", "time"]}
    document_id = await read(verdict={"failures": [missing]}, valid_structured_data=False)

    await _say(client, document_id, "number")
    await _say(client, document_id, "time", value="14:32")
    page = await _page(client, document_id)

    assert "Confirmed as missing," in page
    assert "No value was believed here." in page


async def test_a_value_that_was_not_read_can_be_added(client: httpx.AsyncClient, read: Read) -> None:
    document_id = await read()

    offered = await _page(client, document_id)
    refused = await _add(client, document_id, "tip", "some")
    added = await _add(client, document_id, "seller.address", "1 Mill Lane")
    page = await _page(client, document_id)

    assert '<option value="seller.address">Seller&#39;s address</option>' in offered
    assert '<option value="seller.name">' not in offered
    assert refused.status_code == 422
    assert '<details class="missing" open ' in refused.text
    assert '<option value="tip" selected>' in refused.text
    assert 'id="missing-problem" role="alert">' in refused.text
    assert added.status_code == 303
    assert (await _data(client, document_id))["seller"]["address"] == "1 Mill Lane"
    assert '<option value="seller.address">' not in page


async def test_the_history_tells_what_people_said(client: httpx.AsyncClient, read: Read) -> None:
    document_id = await read()
    await _say(client, document_id, "seller.name", value="Corner <Bakery>")
    await _say(client, document_id, "lines[0].net_amount", "?field=lines%5B0%5D.net_amount", value="1.50")

    history = (await client.get(f"/docs/{document_id}?tab=history")).text

    told = re.findall(r"<li>(.+?), <time", history)
    assert told == [
        'Net amount, row 1: Corrected to <q>1.50</q>, <span translate="no">This machine</span>',
        'Seller: Corrected to <q>Corner &lt;Bakery&gt;</q>, <span translate="no">This machine</span>',
    ]


async def test_the_type_is_chosen_with_a_form_and_taken_back(client: httpx.AsyncClient, read: Read) -> None:
    document_id = await read()

    before = await _page(client, document_id)
    sent = await client.post(f"/docs/{document_id}/type", data={"document_type": "invoice"})
    chosen = await _page(client, document_id)
    history = await _page(client, document_id, "?tab=history")
    back = await client.post(f"/docs/{document_id}/type", data={"document_type": "invoice", "undo": "true"})
    after = await _page(client, document_id)

    assert '<option value="receipt" selected>Receipt</option>' in before
    assert "Chosen by a person" not in before
    assert (sent.status_code, sent.headers["location"]) == (303, f"/docs/{document_id}#type")
    assert '<option value="invoice" selected>Invoice</option>' in chosen
    assert "Chosen by a person" in chosen
    assert "Type: Corrected to <q>Invoice</q>" in history
    assert back.status_code == 303
    assert '<option value="receipt" selected>Receipt</option>' in after
    assert "Chosen by a person" not in after


async def test_a_choice_that_somebody_else_has_taken_back_is_not_taken_back_twice(
    client: httpx.AsyncClient, read: Read
) -> None:
    document_id = await read()
    for name in ("invoice", "quote"):
        await client.post(f"/docs/{document_id}/type", data={"document_type": name})
    undo = {"document_type": "quote", "undo": "true", "seen": "quote"}

    page = await _page(client, document_id)
    first = await client.post(f"/docs/{document_id}/type", data=undo)
    second = await client.post(f"/docs/{document_id}/type", data=undo)
    by_api = await client.patch(
        f"/api/v1/documents/{document_id}", json={"document_type": None, "seen": "quote"}
    )

    assert 'name="seen" value="quote"' in page
    assert first.status_code == 303
    assert (second.status_code, "Somebody has changed the type meanwhile." in second.text) == (409, True)
    assert (by_api.status_code, by_api.json()["code"]) == (409, "changed")
    assert '<option value="invoice" selected>Invoice</option>' in await _page(client, document_id)


async def test_reviewed_values_without_a_field_in_the_new_type_are_named(
    client: httpx.AsyncClient, read: Read, finish: Callable[..., Awaitable[None]]
) -> None:
    document_id = await read()
    form = _form(await _page(client, document_id), "gross_total")
    await client.post(f"/docs/{document_id}/reviews", data={**form, "value": "13.00", "action": "say"})
    before = await _page(client, document_id)
    await client.post(f"/docs/{document_id}/type", data={"document_type": "letter"})
    await finish(
        document_id,
        classification={"document_type": "letter", "title": "Letter"},
        structured_data={"subject": "Bread"},
    )

    after = await _page(client, document_id)
    state = (await client.get(f"/api/v1/documents/{document_id}/reviews")).json()

    assert "set-aside" not in before
    assert "Checked by a person, but without a field in this type: Total." in after
    assert (state["set_aside"], state["current"]["gross_total"]["value"]) == (["gross_total"], "13.00")
    assert await _data(client, document_id) == {"subject": "Bread"}


async def test_a_document_in_which_nothing_was_read_has_no_type_to_choose(
    client: httpx.AsyncClient, add: Callable[..., Awaitable[UUID]]
) -> None:
    document_id = await add("unread.png")

    refused = await client.post(f"/docs/{document_id}/type", data={"document_type": "invoice"})

    assert 'id="type"' not in await _page(client, document_id)
    assert refused.status_code == 409


NUMBER = {
    "number": [
        {
            "value": value,
            "evidence": {
                "page": page,
                "box": [0.1, 0.1, 0.2, 0.2],
                "text": value,
                "match": "exact",
                "confidence": confidence,
            },
        }
        for value, page, confidence in (("R-4711", 1, 0.41), ("471", 2, 0.2))
    ]
}


async def test_a_suggestion_is_accepted_with_its_button_and_undone(
    client: httpx.AsyncClient, read: Read
) -> None:
    document_id = await read(structured_data={"number": None, "gross_total": "12.90"}, suggestions=NUMBER)

    page = await _page(client, document_id)
    form = _form(page, "number")
    unseen = await client.post(f"/docs/{document_id}/reviews", data={**form, "suggestion": "4712"})
    sent = await client.post(f"/docs/{document_id}/reviews", data={**form, "suggestion": "471"})
    accepted = await _data(client, document_id)
    shown = await _page(client, document_id)
    again = await client.post(f"/docs/{document_id}/reviews", data={**form, "suggestion": "471"})
    await client.post(f"/docs/{document_id}/reviews", data={**_form(shown, "number"), "action": "undo"})

    assert 'aria-label="Accept R-4711, 41 %, page 1"' in page
    assert 'class="suggested" data-suggestion="number:0"' in page
    assert 'class="suggested" data-suggestion="number:1"' not in page  # it stands on page 2
    assert (unseen.status_code, "This suggestion is gone." in unseen.text) == (409, True)
    assert 'name="suggestion" value="471"' in page
    assert sent.status_code == 303
    assert accepted["number"] == "471"
    assert "Accept R-4711" not in shown
    assert (again.status_code, "This suggestion is gone." in again.text) == (409, True)
    assert (await _data(client, document_id))["number"] is None
    assert "Accept R-4711" in await _page(client, document_id)


async def test_a_suggestion_without_a_place_can_be_accepted_and_is_no_data_before(
    client: httpx.AsyncClient, read: Read
) -> None:
    nowhere = {"page": None, "box": None, "text": None, "match": "none", "confidence": 0.004}
    document_id = await read(
        structured_data={"number": None, "gross_total": "12.90"},
        suggestions={"number": [{"value": "R-815", "evidence": nowhere}]},
    )

    page = await _page(client, document_id)
    listed = (await client.get("/")).text
    found = (await client.get("/api/v1/documents", params={"q": "R-815"})).json()["documents"]
    sent = await client.post(
        f"/docs/{document_id}/reviews", data={**_form(page, "number"), "suggestion": "R-815"}
    )

    assert 'aria-label="Accept R-815, &lt; 1 %"' in page
    assert "data-place" not in page
    assert 'class="suggested"' not in page
    assert "R-815" not in listed
    assert found == []
    assert sent.status_code == 303
    assert (await _data(client, document_id))["number"] == "R-815"
