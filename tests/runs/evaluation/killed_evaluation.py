"""An evaluation in a process of its own, to be killed: `killed_evaluation.py FOLDER COUNT`; or it goes on."""

import sys
from pathlib import Path
from typing import Any

from tests.runs.components import text_pipeline
from tests.runs.evaluation.evaluated import ListLoader
from tests.runs.killed_run import BusyExtractor

from docmill.errors import RunExistsError
from docmill.ports import Ref
from docmill.runs.evaluation.evaluating import Evaluation
from docmill.runs.evaluation.evaluators import ExactEvaluator
from docmill.runs.policy import RunPolicy
from docmill.runs.roles import Example


def main(folder: Path, count: int) -> None:
    extractor: Any = BusyExtractor()
    examples: list[Example[Any]] = [
        Example(Ref(f"{number}", f"{number}", version="1"), {"sender": f"{number}" if number % 2 else "x"})
        for number in range(count)
    ]
    evaluation = Evaluation(
        pipeline=text_pipeline(extractor=extractor, policy=RunPolicy(concurrency=4, lease_s=0.6)),
        loader=ListLoader(examples),
        evaluators=[ExactEvaluator()],
        predictions=folder / "predictions.jsonl",
    )
    try:
        report = evaluation.run(run_id="run", store=folder / "runs.sqlite")
    except RunExistsError:
        report = evaluation.resume("run", store=folder / "runs.sqlite")
    report.write(folder / "report.json")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
