"""The dashboard in docs/ asks for what `/metrics` tells."""

import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args

import httpx
import pytest
from fastapi import FastAPI
from prometheus_client.parser import text_string_to_metric_families

from docmill.model.document import Usage
from docmill.service.observe.metrics import MatchingOutcome, Metrics, Outcome
from docmill.service.store import outages
from docmill.web.context import Vault

ROOT = Path(__file__).parents[2]
DASHBOARD = json.loads((ROOT / "docs" / "reference" / "grafana-dashboard.json").read_text())
PANELS: list[dict[str, Any]] = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
QUERIES: list[str] = [target["expr"] for panel in PANELS for target in panel["targets"]]

# Prometheus adds these to whatever it scrapes.
ADDED = {"instance", "job"}

Sample = tuple[str, dict[str, str]]


class Pool:
    workers, busy, waiting = 2, 1, 0


def exercise(metrics: Metrics) -> None:
    """Let everything happen once that is counted."""
    usage = Usage(input_tokens=10, output_tokens=5, model="small", cost=Decimal("0.25"))
    for outcome in get_args(Outcome):
        metrics.attempt_started()
        metrics.attempt_ended(
            outcome, attempt=1, duration_s=1, code="network", timings_s={"read": 0.1}, usage=usage
        )
    for outcome in get_args(MatchingOutcome):
        metrics.matching_ended(outcome, code="network", duration_s=1)
    metrics.paused("unauthorized", 60)
    metrics.watch_pauses(lambda: [("unauthorized", "small model")])
    metrics.upload_ended("accepted")
    metrics.notification_ended("slack", "sent")
    metrics.watch_pool("reading", Pool())


@pytest.fixture
async def samples(app: FastAPI, client: httpx.AsyncClient) -> list[Sample]:
    """Everything that a vault tells which has done all that it can do."""
    vault = app.state.vault
    assert isinstance(vault, Vault)
    exercise(vault.metrics)
    async with vault.service.database.connection() as conn:
        await outages.confirm(conn, {"small model": "server_error"}, worker_id="worker")
    text = (await client.get("/metrics")).text
    return [
        (sample.name, dict(sample.labels))
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    ]


def selectors(query: str) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """The series that a query asks for: name, and matchers as label, operator and value."""
    return [
        (name, re.findall(r'(\w+)(=~|!=|!~|=)"([^"]*)"', braces))
        for name, braces in re.findall(r"\b((?:docmill|process)_\w+)(\{[^}]*\})?", query)
    ]


def matches(labels: dict[str, str], matcher: tuple[str, str, str]) -> bool:
    name, operator, value = matcher
    found = labels.get(name, "")
    equal = re.fullmatch(value, found) is not None if "~" in operator else found == value
    return equal != operator.startswith("!")


def faults(query: str, samples: list[Sample]) -> list[str]:
    """What a query asks for and does not get."""
    found: list[dict[str, str]] = []
    faults: list[str] = []
    for name, matchers in selectors(query):
        labels = [labels for known, labels in samples if known == name]
        if not any(all(matches(one, matcher) for matcher in matchers) for one in labels):
            faults.append(f"{name}{matchers} finds nothing")
        faults += [
            f"{name} has no label {label}"
            for label, _, _ in matchers
            if not any(label in one for one in labels)
        ]
        found += labels
    wanted = {label.strip() for group in re.findall(r"\bby \(([^)]*)\)", query) for label in group.split(",")}
    told = {label for one in found for label in one}
    return faults + [f"{query}: nothing has the label {label}" for label in wanted - ADDED - told]


async def test_every_query_of_the_dashboard_finds_what_metrics_tells(samples: list[Sample]) -> None:
    assert len(QUERIES) > len(PANELS) > 0
    assert all(selectors(query) for query in QUERIES)
    assert [fault for query in QUERIES for fault in faults(query, samples)] == []


async def test_a_query_for_what_is_not_told_is_found_out(samples: list[Sample]) -> None:
    wrong = (
        "sum(docmill_nothing)",
        'docmill_documents_total{outcome="none"}',
        "sum by (tenant) (docmill_up)",
        'docmill_up{queue=""}',
    )

    assert all(faults(query, samples) for query in wrong)


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_a_legend_names_labels_that_its_query_keeps(panel: dict[str, Any]) -> None:
    for target in panel["targets"]:
        kept = set(re.findall(r"\w+", " ".join(re.findall(r"\b(?:by|on) \(([^)]*)\)", target["expr"]))))
        assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= kept


def test_every_metric_of_ours_is_on_the_dashboard(samples: list[Sample]) -> None:
    shown = {re.sub(r"_(bucket|sum|count)$", "", name) for query in QUERIES for name, _ in selectors(query)}
    told = {
        re.sub(r"_(bucket|sum|count|created)$", "", name)
        for name, _ in samples
        if name.startswith("docmill_")
    }

    assert {name for name in told if name not in shown and f"{name}_total" not in shown} == set()


def test_panels_do_not_overlap() -> None:
    places = [
        (place["x"] + column, place["y"] + line)
        for place in (panel["gridPos"] for panel in DASHBOARD["panels"])
        for column in range(place["w"])
        for line in range(place["h"])
    ]

    assert len(places) == len(set(places))
