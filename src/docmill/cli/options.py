"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

SettingsFile = Annotated[
    Path | None, typer.Option("--config", help="Settings file.", show_default="docmill.toml", dir_okay=False)
]
Aws = Annotated[bool, typer.Option("--aws", help="Keep queue and files in AWS: SQS and S3.")]
DataFolder = Annotated[Path | None, typer.Option("--data-dir", help="Where everything is kept.")]
Json = Annotated[bool, typer.Option("--json", help="As JSON.")]
