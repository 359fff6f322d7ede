"""An exporter that is killed between flush and close: `killed_exporter.py CLASS CONFIG_CLASS CONFIG`."""

import asyncio
import os
import signal
import sys
from importlib import import_module
from typing import Any

from tests.runs.components import text_document
from tests.runs.exporters import BILL, current_document

from docmill.runs.context import Context, set_current
from docmill.runs.roles import ExtractionResult
from docmill.runs.stages import call_if_there


def named(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


async def main(exporter: Any) -> None:
    context: Context[None] = Context("run", None)
    await call_if_there(exporter, "open", context)
    set_current(current_document())
    await call_if_there(exporter, "export", text_document("x"), ExtractionResult(BILL), context)
    await call_if_there(exporter, "flush")
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(main(named(sys.argv[1])(named(sys.argv[2]).model_validate_json(sys.argv[3]))))
