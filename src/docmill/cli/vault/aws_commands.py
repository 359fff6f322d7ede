"""The commands of `docmill aws`."""

import json
import re
from typing import Annotated

import typer

from docmill.cli.console import SettingsFile, stdout

app = typer.Typer(
    name="aws",
    help="What an installation needs in Amazon's cloud.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
_ACCOUNT = re.compile(r"\d{12}|ACCOUNT")


def _check_account(account: str) -> str:
    if not _ACCOUNT.fullmatch(account):
        raise typer.BadParameter("the number of an account has twelve digits")
    return account


@app.command("policy")
def policy(
    config: SettingsFile = None,
    account: Annotated[
        str, typer.Option(metavar="NUMBER", help="The account that has the queues.", callback=_check_account)
    ] = "ACCOUNT",
) -> None:
    """Print the IAM policy that web servers and workers with these settings need."""
    from docmill.cli.vault.access import load_settings
    from docmill.service.aws.policy import iam_policy

    stdout.print_json(json.dumps(iam_policy(load_settings(config), account=account)))
