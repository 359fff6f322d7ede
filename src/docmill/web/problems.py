"""Error responses: RFC 9457 problems for programs, an HTML page for people."""

import logging
import math

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match

from docmill.errors import (
    ChangedError,
    DocmillError,
    DocumentError,
    OutdatedError,
    RateLimitedError,
    SetupError,
    TooLargeError,
    TransientError,
    UnsupportedFileTypeError,
)
from docmill.service.review.review import InvalidValuesError
from docmill.web.access import is_for_programs
from docmill.web.languages import gettext_noop
from docmill.web.security import HEADERS
from docmill.web.templating import Templates

log = logging.getLogger(__name__)

_STATUS: tuple[tuple[type[DocmillError], int], ...] = (
    (OutdatedError, 412),
    (ChangedError, 409),
    (TooLargeError, 413),
    (UnsupportedFileTypeError, 415),
    (DocumentError, 422),
    (RateLimitedError, 429),
    (TransientError, 503),
    (SetupError, 500),
    (DocmillError, 500),
)
"""The first class that the error is an instance of decides."""

_TITLES = {
    400: gettext_noop("This request cannot be understood"),
    401: gettext_noop("Not signed in"),
    403: gettext_noop("Not allowed"),
    404: gettext_noop("Not found"),
    405: gettext_noop("Not possible here"),
    409: gettext_noop("Changed meanwhile"),
    412: gettext_noop("Changed meanwhile"),
    413: gettext_noop("Too large"),
    415: gettext_noop("This type of file cannot be shown"),
    416: gettext_noop("This part does not exist"),
    422: gettext_noop("This does not work as it is"),
    429: gettext_noop("Too many requests"),
    500: gettext_noop("Something went wrong here"),
    503: gettext_noop("Not available at the moment"),
}

_OTHER_TITLE = gettext_noop("This did not work")
_FRAMEWORK_DETAILS = {
    404: gettext_noop("There is nothing at this address."),
    405: gettext_noop("This address does not take such requests."),
}
_HTTP_CODES = {
    401: "not_signed_in",
    403: "forbidden",
    404: "not_found",
    405: "not_allowed",
    413: "too_large",
    422: "validation",
}
_INTERNAL = gettext_noop(
    "A fault in docmill itself; the log has the details. Nothing you sent was lost or changed."
)


def status_of(error: DocmillError) -> int:
    """Return the HTTP status of an error."""
    return next(status for error_class, status in _STATUS if isinstance(error, error_class))


def problem_response(status: int, *, code: str, detail: str, **members: object) -> JSONResponse:
    """Build an error response as RFC 9457 has it, with our stable code."""
    content = {
        "type": "about:blank",
        "title": _TITLES.get(status, _OTHER_TITLE),
        "status": status,
        "detail": detail,
        "code": code,
        **members,
    }
    return JSONResponse(content, status, media_type="application/problem+json")


class _ErrorHandlers:
    """The handlers of errors: problem details for the API, an error page for browsers."""

    def __init__(self, templates: Templates) -> None:
        self._templates = templates

    async def on_docmill_error(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, DocmillError)
        status = status_of(error)
        if status >= 500:  # noqa: PLR2004  the server's own faults
            log.error("request failed", extra={"code": error.code, "path": request.url.path})
        members: dict[str, object] = {}
        if isinstance(error, InvalidValuesError):
            members["faults"] = [{"where": path, "message": text} for path, text in error.faults.items()]
        response = self._answer(request, status, code=error.code, detail=error.message, **members)
        if isinstance(error, RateLimitedError) and error.retry_after_s:
            response.headers["retry-after"] = str(math.ceil(error.retry_after_s))
        return response

    async def on_http_error(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        status, detail = error.status_code, error.detail
        if detail in {"Not Found", "Method Not Allowed"}:  # the framework's own words
            detail = _FRAMEWORK_DETAILS[status]
        code = _HTTP_CODES.get(status, "bad_request")
        response = self._answer(request, status, code=code, detail=detail)
        response.headers.update(error.headers or {})
        if status == 405:  # noqa: PLR2004  the router names the methods of the first route alone
            response.headers["allow"] = ", ".join(_methods(request))
        return response

    async def on_validation_error(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        faults = [
            {
                "where": ".".join(str(part) for part in fault["loc"]),
                "message": fault["msg"].removeprefix("Value error, "),
            }
            for fault in error.errors()
        ]
        detail = "; ".join(f"{fault['where']}: {fault['message']}" for fault in faults)
        return self._answer(request, 422, code="validation", detail=detail, faults=faults)

    async def on_disconnect(self, request: Request, _error: Exception) -> Response:
        """A client that has gone before its request was whole, which nobody of us has to look into."""
        return self._answer(request, 400, code="bad_request", detail="The request was cut off.")

    async def on_fault(self, request: Request, _error: Exception) -> Response:
        """The framework logs the fault after this; its answer passes none of our middleware."""
        response = self._answer(request, 500, code="internal", detail=_INTERNAL)
        response.headers.update({**HEADERS, "cache-control": "no-store"})
        return response

    def _answer(
        self, request: Request, status: int, *, code: str, detail: str, **members: object
    ) -> Response:
        if is_for_programs(request.url.path):
            return problem_response(status, code=code, detail=detail, **members)
        title = _TITLES.get(status, _OTHER_TITLE)
        return self._templates.page(
            request, "error.html", status_code=status, title=title, detail=detail, status=status
        )


def _methods(request: Request) -> list[str]:
    """The methods that the address of a request takes."""
    app: FastAPI = request.app
    return [
        method
        for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
        if any(
            route.matches({**request.scope, "method": "GET" if method == "HEAD" else method})[0] == Match.FULL
            for route in app.routes
        )
    ]


def install(app: FastAPI, templates: Templates) -> None:
    """Install the error handlers of `app`."""
    handlers = _ErrorHandlers(templates)
    app.add_exception_handler(DocmillError, handlers.on_docmill_error)
    app.add_exception_handler(HTTPException, handlers.on_http_error)
    app.add_exception_handler(RequestValidationError, handlers.on_validation_error)
    app.add_exception_handler(ClientDisconnect, handlers.on_disconnect)
    app.add_exception_handler(Exception, handlers.on_fault)
