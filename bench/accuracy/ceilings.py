"""Measure at which stage values of photographs are lost: reading, candidates, or the choice of one.

python -m bench ceilings FILE    # kept readings, as `bench.golden.readings` keeps them

Understanding alone, of readings that are kept, as receipts: a few seconds. Of each labelled field the share
that is right, and the share for which an accepted text is read at all, is made of whole lines, and is among
the candidates. The quarter that is set aside is left out.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.accuracy.trust import is_set_aside
from bench.arguments import argument_parser
from bench.data import photos
from bench.data.shared import ROOT, load_scorer
from bench.golden.readings import Readings
from docmill.model import codec
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.receipts.extractor import learned_findings
from docmill.understanding.receipts.head import head
from docmill.understanding.receipts.model import FILE, ReceiptModel, loads
from docmill.understanding.receipts.spans import ROLES, Field, enumerate_spans
from docmill.understanding.text.dates import MISREAD_TIME, clock_time

LONGEST = 9
"""Lines of an address."""
STAGES = ("right", "read", "whole lines", "candidate")
_SPAN_FIELDS: dict[str, Field] = {path: field for field, path in ROLES.items()}


class Answer(NamedTuple):
    """The answer for one field. stages: of `STAGES` those that an accepted text has reached."""

    source: str
    field: str
    text: str | None
    accepted: Sequence[str]
    probability: float
    stages: frozenset[str]


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("readings", type=Path)
    parser.add_argument("--model", type=Path, default=ROOT / "src/docmill/understanding/receipts" / FILE)
    arguments = parser.parse_args()
    answers = answers_for_photos(arguments.readings, loads(arguments.model.read_bytes()))
    print_ceilings(answers)


def answers_for_photos(readings: Path, model: ReceiptModel) -> list[Answer]:
    """Answer every labelled or answered field of the photographs that are not set aside."""
    score, truth = load_scorer(), photos.labels()
    found: list[Answer] = []
    for reading in Readings(readings).of("photos"):
        name = Path(reading.source).name
        if reading.transcription and name in truth and not is_set_aside(name):
            candidates = candidates_of(codec.loads(reading.transcription))
            found += _answers(name, candidates, model, truth[name], score)
    return found


def _answers(
    source: str,
    candidates: Candidates,
    model: ReceiptModel,
    truth: Mapping[str, Sequence[str]],
    score: Any,
) -> list[Answer]:
    findings = learned_findings(candidates, model)
    found: list[Answer] = []
    for field in photos.FIELDS:
        finding, accepted = findings.get(field), truth.get(field, ())
        text = None if finding is None else str(finding.value)
        if text is not None or accepted:
            stages = set(_stages(field, accepted, candidates, score)) if accepted else set[str]()
            if text is not None and accepted and photos.is_right(field, text, accepted, score):
                stages |= set(STAGES)
            probability = finding.probability if finding else 0.0
            found.append(Answer(source, field, text, accepted, probability, frozenset(stages)))
    return found


def _stages(field: str, accepted: Sequence[str], candidates: Candidates, score: Any) -> set[str]:
    """The stages that an accepted text has reached, whatever was chosen in the end."""
    if field in _SPAN_FIELDS:
        return _text_stages(field, accepted, candidates, score)
    lines = [segment.text for segment in candidates.layout.segments]
    values: Sequence[Any] = [abs(amount.value) for amount in candidates.amounts]
    if field == "issue_date":
        values = [day.value for day in candidates.dates]
    elif field == "time":
        values = [clock_time(match) for line in lines for match in MISREAD_TIME.finditer(line)]
    if any(photos.is_right(field, str(value), accepted, score) for value in values):
        return {"read", "whole lines", "candidate"}
    is_read = field in ("issue_date", "time") and any(
        photos.is_right(field, line, accepted, score) for line in lines
    )
    return {"read", "whole lines"} if is_read else set()


def _text_stages(field: str, accepted: Sequence[str], candidates: Candidates, score: Any) -> set[str]:
    texts = {score.s2_text(text) for text in (*accepted, "".join(accepted))} - {""}
    lines = [score.s2_text(segment.text) for segment in candidates.layout.segments]
    stages: set[str] = set()
    if any(text in "".join(lines) for text in texts):
        stages.add("read")
    runs = (
        "".join(lines[start:stop])
        for start in range(len(lines))
        for stop in range(start + 1, min(len(lines), start + LONGEST) + 1)
    )
    if any(run in texts for run in runs):
        stages.add("whole lines")
    if candidates.layout.sheets:
        choices = enumerate_spans(head(candidates), _SPAN_FIELDS[field])
        if any(score.s2_text(choices.text(index)) in texts for index in range(len(choices.choices))):
            stages.add("candidate")
    return stages


def print_ceilings(answers: Sequence[Answer]) -> None:
    by_field: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        by_field[answer.field].append(answer)
    for field, of_field in by_field.items():
        labelled = [answer for answer in of_field if answer.accepted]
        reached = Counter(stage for answer in labelled for stage in answer.stages)
        shares = " | ".join(f"{stage} {reached[stage] / max(1, len(labelled)):6.1%}" for stage in STAGES)
        given = sum(answer.text is not None for answer in of_field)
        precision = reached["right"] / max(1, given)
        print(f"{field:15} n={len(labelled):4} | {shares} | given {given:4}, precision {precision:6.1%}")


if __name__ == "__main__":
    main()
