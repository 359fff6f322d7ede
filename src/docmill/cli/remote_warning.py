"""What leaves this machine because of a settings file that nobody named."""

import tomllib
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from docmill.cli.console import stderr
from docmill.service.config.sources import DEFAULT_FILE

if TYPE_CHECKING:
    from docmill.service.config.settings import Settings

_HINT = "to keep them here, name another settings file with --config (an empty one will do)"


def tell_leaving(settings: "Settings | None", config: Path | None) -> None:
    """Say before anything is read that pages or their text will be sent away.

    Who named the file, or set a variable, knows; a file that lies in the current folder may be anybody's.
    """
    if settings is None or config is not None or not DEFAULT_FILE.is_file():
        return
    told = list(_leaving(settings, tomllib.loads(DEFAULT_FILE.read_text(encoding="utf-8"))))
    if told:
        stderr.print(
            f"documents leave this machine: {DEFAULT_FILE.absolute()} names {' and '.join(told)}; {_HINT}",
            markup=False,
            soft_wrap=True,
        )


def _leaving(settings: "Settings", said: Mapping[str, Any]) -> Iterator[str]:
    """Whom the file, and no variable, has asked."""
    if list(settings.ocr.engines) == said.get("ocr", {}).get("engines"):
        if "documentai" in settings.ocr.engines and _is_away(settings.documentai.endpoint):
            yield "the engine documentai (pages go to Google)"
        if "vision" in settings.ocr.engines and _is_away(settings.llm.base_url):
            yield f"the engine vision (pages go to {settings.llm.base_url or settings.llm.provider})"
    for name in ("small", "large"):
        model = getattr(settings.understanding, name)
        if model is None or name not in said.get("understanding", {}):
            continue
        whole = model.within(settings.llm)
        if _is_away(whole.base_url):
            what = "text and pages go" if whole.sees else "text goes"
            yield f"the {name} model {whole.model} ({what} to {whole.base_url or whole.provider})"


def _is_away(address: str | None) -> bool:
    """Whether it is of another machine; None: the provider's own."""
    host = urlsplit(address).hostname if address else None
    if host is None:
        return True
    try:
        return not ip_address(host).is_loopback
    except ValueError:
        return host != "localhost" and not host.endswith(".localhost")
