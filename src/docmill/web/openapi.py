"""The machine-readable description of the API: errors of every operation, with examples."""

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from docmill.web import idempotency

_PROBLEM = "Problem"
_SCHEMA = {
    "type": "object",
    "description": "An error as RFC 9457 has it. code: stable; detail: what failed and what to do.",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string"},
        "faults": {
            "type": "array",
            "description": "what is wrong with each value",
            "items": {
                "type": "object",
                "required": ["where", "message"],
                "properties": {"where": {"type": "string"}, "message": {"type": "string"}},
            },
        },
    },
}
_PROBLEMS: dict[int, tuple[str, str, str, str]] = {
    400: ("The request cannot be understood", "This request cannot be understood", "bad_request",
          "There was an error parsing the body"),
    401: ("Nobody is signed in", "This did not work", "unauthorized", "Sign in, or send an API key."),
    403: ("This person or key may not do that", "This did not work", "forbidden",
          "This key may only read documents."),
    404: ("There is no such thing here", "Not found", "not_found", "There is no such document here."),
    409: ("It is no longer what the caller saw", "Changed meanwhile", "changed",
          "The document was processed again meanwhile. Look at its values as they are now."),
    412: ("The document has another version than `If-Match` names", "Changed meanwhile", "changed",
          "The document was changed meanwhile. Look at it as it is now."),
    413: ("A limit is exceeded", "Too large", "too_large",
          "the file is larger than 50 MB; make it smaller, or raise limits.file_mb"),
    415: ("There is no picture of this type of file", "This type of file cannot be shown",
          "unsupported_file_type", "this type of file has no pages that can be drawn"),
    416: ("The range is outside of the file", "This part does not exist", "bad_request",
          "The file has 1200 bytes."),
    422: ("A value does not fit", "This does not work as it is", "validation",
          "body.title: String should have at least 1 character"),
    429: ("Too many requests", "Too many requests", "rate_limited", "Try again in 30 seconds."),
    503: ("Not available at the moment", "Not available at the moment", "server_error",
          "the database cannot be used now; try again"),
}  # fmt: skip
_EVERYWHERE = (400, 401, 403, 422, 429, 503)
_TOO_LARGE = ("/documents", "/documents/{document_id}/pages/{number}.webp")
_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "names this request; repeated with the same key, it changes nothing more and gets the same"
    " answer for 24 hours",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": r"^[\x20-\x7e]+$"},
}


def install(app: FastAPI, *, prefix: str) -> None:
    """Have `app` describe its API with all errors. prefix: of the API's addresses."""
    app.openapi = _described(app, prefix)  # the framework's way to replace it


def _described(app: FastAPI, prefix: str) -> Callable[[], dict[str, Any]]:
    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            description = get_openapi(
                title=app.title, version=app.version, summary=app.summary, routes=app.routes
            )
            for path, operations in description["paths"].items():
                if path.startswith(prefix):
                    for method, operation in operations.items():
                        _add_problems(operation, method.upper(), path.removeprefix(prefix))
            schemas = description.setdefault("components", {}).setdefault("schemas", {})
            schemas[_PROBLEM] = _SCHEMA
            for replaced in ("HTTPValidationError", "ValidationError"):
                schemas.pop(replaced, None)
            app.openapi_schema = description
        return app.openapi_schema

    return openapi


def _add_problems(operation: dict[str, Any], method: str, path: str) -> None:
    """Add the errors that an operation can answer with, and the key that a write takes."""
    parameters = operation.setdefault("parameters", [])
    statuses = [*_EVERYWHERE]
    if "{" in path:
        statuses.append(404)
    if method in idempotency.WRITES:
        parameters.append(_KEY)
        statuses.append(409)
    if any(parameter["name"] == "if-match" for parameter in parameters):
        statuses.append(412)
    if path in _TOO_LARGE or method in {"POST", "PUT", "PATCH"}:
        statuses.append(413)
    if path.endswith(".webp"):
        statuses.append(415)
    if path.endswith("/file"):
        statuses.append(416)
    if any(parameter["name"] == "token" for parameter in parameters):
        operation["security"].append({})  # a signed address is enough
    for status in sorted(statuses):
        operation["responses"][str(status)] = _problem(status)


def _problem(status: int) -> dict[str, Any]:
    description, title, code, detail = _PROBLEMS[status]
    example = {"type": "about:blank", "title": title, "status": status, "detail": detail, "code": code}
    content = {"schema": {"$ref": f"#/components/schemas/{_PROBLEM}"}, "example": example}
    return {"description": description, "content": {"application/problem+json": content}}
