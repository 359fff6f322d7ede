"""Blocking forms of coroutine functions."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from docmill.errors import DocmillError, MisconfiguredError

log = logging.getLogger(__name__)

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def synchronous(
    function: Callable[_Arguments, Coroutine[Any, Any, _Result]],
) -> Callable[_Arguments, _Result]:
    """Wrap a coroutine function in a blocking one; in a running event loop it raises MisconfiguredError."""

    @wraps(function)
    def wait(*args: _Arguments.args, **options: _Arguments.kwargs) -> _Result:
        if is_in_event_loop():
            raise MisconfiguredError(
                "an event loop is running here, as in a notebook; "
                f"write: await docmill.{getattr(function, '__name__', 'process')}(…)"
            )
        try:
            return asyncio.run(function(*args, **options))
        except DocmillError as error:
            # The error alone says what to do; what led to it is of use to who works on docmill.
            log.debug("a call failed", exc_info=error)
            raise error from None

    wait.__name__ = wait.__qualname__ = wait.__name__.removeprefix("a")
    return wait


def is_in_event_loop() -> bool:
    """True if an event loop is running in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
