"""Logs that name the work they belong to and never quote a document: JSON, or plain lines for a person."""

import logging
import sys
import traceback
from types import TracebackType
from typing import Any, Literal, TextIO

import structlog
from stamina.instrumentation import RetryDetails, set_on_retry_hooks
from structlog.typing import EventDict, Processor, WrappedLogger

log = logging.getLogger(__name__)

_TALKATIVE = ("aiobotocore", "alembic", "botocore", "httpx", "httpx2", "mcp", "uvicorn")
"""Libraries whose INFO messages are for their own developers, and may hold addresses with passwords."""

_OF_STRUCTLOG = frozenset({"_record", "_from_structlog"})


def configure_logs(
    *,
    level: Literal["debug", "info", "warning", "error"] | None = None,
    form: Literal["json", "plain"] | None = None,
    stream: TextIO = sys.stderr,
) -> None:
    """Send all records of this process to `stream`, as JSON lines or as plain lines for a person.

    Without level and form, a terminal gets warnings and worse in plain lines, and anything else JSON from
    level `info` on.

    What is bound with `structlog.contextvars` (ingestion_id, document_id, tenant_id, worker_id, attempt) and
    what is in `extra` become keys. Warnings of libraries and the fault that ends the process are among them.
    At level `debug` only our own records are added: libraries quote there what they send and receive.
    """
    at_terminal = stream.isatty()
    level = level or ("warning" if at_terminal else "info")
    form = form or ("plain" if at_terminal else "json")
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        _drop_hidden,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _drop_texts,
    ]
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _plain_line if form == "plain" else structlog.processors.JSONRenderer(default=str),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel("INFO" if level == "debug" else level.upper())
    logging.getLogger("docmill").setLevel(level.upper())
    for library in _TALKATIVE:
        logging.getLogger(library).setLevel(logging.WARNING)
    # It tells of each of its tries, every second, while the receiver of traces is away.
    logging.getLogger("opentelemetry").setLevel(logging.ERROR)
    set_on_retry_hooks([_log_retry])
    logging.captureWarnings(capture=True)
    sys.excepthook = _log_last_fault


def _log_last_fault(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Log the fault that ends this process, instead of a traceback that quotes its message."""
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
    else:
        log.critical("a fault in docmill ends this process", exc_info=(kind, error, trace))


def _log_retry(details: RetryDetails) -> None:
    """Log a retry by name and reason. The hook of stamina would log arguments, such as whole documents."""
    log.warning("trying again", extra={"what": details.name, "reason": type(details.caused_by).__name__})


def _plain_line(_logger: WrappedLogger, _method: str, event: EventDict) -> str:
    """`02:30:11 warning: trying again (what store)`, in UTC, with an exception below it."""
    chain: list[dict[str, Any]] = event.pop("exception", [])
    words, level, time = event.pop("event"), event.pop("level"), event.pop("timestamp")
    event.pop("logger")
    details = ", ".join(f"{name} {value}" for name, value in event.items())
    lines = [f"{time[11:19]} {level}: {words}" + (f" ({details})" if details else "")]
    lines += [f"  {error['type']} at {place}" for error in chain for place in error["at"][-1:]]
    return "\n".join(lines)


def _drop_hidden(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Drop what libraries add to every record for themselves, such as Ray's `_ray_timestamp_ns`."""
    for key in [key for key in event if key.startswith("_") and key not in _OF_STRUCTLOG]:
        del event[key]
    return event


def _drop_texts(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Replace an exception by its types and places, since its message may contain text of a document."""
    event.pop("exc_info", None)
    record: logging.LogRecord = event["_record"]
    if record.name == "asyncio":
        # Its further lines show tasks with what they returned or raised.
        event["event"] = str(event["event"]).partition("\n")[0]
    if record.exc_info:
        error, chain = record.exc_info[1], list[dict[str, str | list[str]]]()
        while error is not None:
            frames = traceback.extract_tb(error.__traceback__)
            places = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
            chain.append({"type": type(error).__qualname__, "at": places})
            error = error.__cause__ or error.__context__
        event["exception"] = chain
    return event
