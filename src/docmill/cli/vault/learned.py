"""Shows what matching has learned from people, and resets the correction of scores."""

import json
from dataclasses import asdict

from docmill.cli.console import counted, local_time, shown, stdout
from docmill.cli.vault.access import existing_service, log_command
from docmill.service.config.settings import Settings
from docmill.service.match_learning import MatchLearning
from docmill.service.store import match_calibrations, party_aliases

_SHOWN_ALIASES = 100
_SHOWN_TRIALS = 20


async def show_learned(settings: Settings, *, as_json: bool) -> int:
    """Print the aliases of parties and the history of corrections; the exit code."""
    async with existing_service(settings) as service:
        tenant_id = service.default_tenant_id
        async with service.database.tenant(tenant_id) as conn:
            aliases = await party_aliases.shown(conn, tenant_id=tenant_id, limit=_SHOWN_ALIASES)
            trials = await match_calibrations.history(conn, tenant_id=tenant_id, limit=_SHOWN_TRIALS)
            is_corrected = await match_calibrations.current(conn, tenant_id=tenant_id) is not None
    if as_json:
        content = {
            "aliases": [asdict(alias) for alias in aliases],
            "is_corrected": is_corrected,
            "trials": [asdict(trial) | {"made_at": trial.made_at.isoformat()} for trial in trials],
        }
        stdout.print_json(json.dumps(content, ensure_ascii=False))
        return 0
    stdout.print("names and accounts of one party:" if aliases else "no names or accounts of one party")
    for alias in aliases:
        decisions = counted(alias.decisions, "decision")
        names = f"    {shown(alias.first_name)} = {shown(alias.second_name)}  ({decisions})"
        stdout.print(names, markup=False)
    stdout.print("scores are corrected" if is_corrected else "scores are as shipped")
    for trial in trials:
        made_at = local_time(trial.made_at)
        text = f"    {trial.version}  {made_at}  {trial.outcome}"
        if trial.shipped_loss is not None:
            text += f", {trial.confirmed} confirmed and {trial.declined} declined"
            text += f", log loss {trial.shipped_loss:.3f} -> {trial.corrected_loss:.3f}"
        stdout.print(text, markup=False)
    return 0


async def reset_learned(settings: Settings) -> int:
    """Go back to the shipped scores; the exit code."""
    async with existing_service(settings) as service:
        learning = MatchLearning(service.database, service.matching_requests)
        await learning.reset_calibration(service.default_tenant_id)
        await log_command(service, "reset_match_scores")
    stdout.print("scores are as shipped; documents with links are matched again")
    return 0
