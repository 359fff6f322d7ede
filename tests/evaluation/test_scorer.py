"""Our S2 is that of the scorer with which receipts are compared everywhere."""

import importlib.util
import random
from pathlib import Path
from typing import Any

import pytest

from docmill.evaluation.judge import Judge
from docmill.evaluation.report import build_report, judge_document
from docmill.evaluation.truth import Truth, known_fields
from docmill.schemas.registry import REGISTRY

SCORER = Path(__file__).parents[2].parent / "shared/eval/score.py"
PLACES = {"company": "seller.name", "date": "issue_date", "address": "seller.address", "total": "gross_total"}

Values = dict[str, str | None]


def _receipts() -> dict[str, Values]:
    return {
        str(index): {
            "company": f"BOOK TA .K NO {index} SDN BHD",
            "date": (f"{index % 28 + 1:02}/12/2018", f"{index % 28 + 1} DEC 2018")[index % 2],
            "address": f"NO.53 {index}, JALAN SAGU 18, 81100 JOHOR BAHRU" if index % 5 else "",
            "total": (f"{index}.00", f"RM {index},250.10", f"${index}.5")[index % 3],
        }
        for index in range(1, 60)
    }


def _misread(value: str | None, chance: random.Random) -> str | None:
    if not value:
        return chance.choice([None, "surplus"])
    return chance.choice([value, value, value.lower(), value.replace(" ", ""), value[:-1], "9" + value, None])


@pytest.mark.skipif(not SCORER.exists(), reason="the shared scorer is not part of docmill")
def test_receipts_score_as_by_the_shared_scorer() -> None:
    chance = random.Random(7)  # noqa: S311 - misreadings, not secrets
    true = _receipts()
    said = {key: {name: _misread(one, chance) for name, one in row.items()} for key, row in true.items()}
    truths = [
        Truth(key, {PLACES[name]: one or None for name, one in row.items()}, "receipt")
        for key, row in true.items()
    ]
    known = known_fields(truths, REGISTRY)
    judge = Judge(known.kinds, known.labelled)

    expected = _scorer().score(said, true, list(true))
    report = build_report(
        [judge_document(truth.source, truth, _record(said[truth.source]), judge) for truth in truths]
    )

    for tier in ("S0", "S2", "S3"):
        found = report["figures"]["tiers"][tier]
        figures = (found["precision"], found["recall"], found["f1"], found["documents_right"])
        assert figures == pytest.approx(tuple(expected[tier][name] for name in ("P", "R", "F1", "doc")))
    for name, path in PLACES.items():
        assert report["figures"]["fields"][path]["accuracy"] == pytest.approx(expected["S2"][name])


def _record(said: Values) -> dict[str, Any]:
    data = {PLACES[name]: one for name, one in said.items()}
    return {"status": "completed", "document_type": "receipt", "data": data}


def _scorer() -> Any:  # noqa: ANN401 - it has no types
    spec = importlib.util.spec_from_file_location("score", SCORER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
