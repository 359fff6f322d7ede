"""Accuracy of an exported page model on pages of vendors it has not seen.

`python -m tools.page_model.evaluate --model FILE.onnx --fold 0 --data FILES --out FILE`; then
`python -m tools.page_model.evaluate --table NAME=FILE,FILE ...` prints the comparison.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.page_model.features import label_meanings
from docmill.understanding.page_model.model import PageModel, PageReading
from tools.page_model.decode import text_spans, value_spans
from tools.page_model.examples import LEAST_WORDS, fold_of
from tools.page_model.judging import (
    FORMS,
    PATHS,
    Answer,
    document_of,
    places,
    read_answers,
    shown,
    table,
    write_answers,
)
from tools.page_model.samples import Sample, read_samples

TEXTS = ("seller.name", "seller.address")
_MOST_FACTS = 3


def answer(roles: Sequence[str], sample: Sample, page: PageReading) -> Answer:
    """Every field of a page, from words and from docmill's own candidates. roles: of the model."""
    candidates = candidates_of(document_of(sample))
    segments = [(segment.start, segment.stop) for segment in candidates.layout.segments]
    values: dict[str, list[tuple[str, float]]] = {}
    for path in PATHS.values():
        if path not in roles or not (path in FORMS or path in TEXTS):
            continue
        role = roles.index(path)
        if path in TEXTS:
            scored = text_spans(sample.texts, segments, page, role)
        else:
            scored = value_spans(places(candidates.of_form(FORMS[path])), page, role)
        values[path] = [(shown(item.value), round(item.probability, 5)) for item in scored]
    for name, shares in page.facts.items():
        ranked = sorted(shares.items(), key=lambda pair: -pair[1])[:_MOST_FACTS]
        values[name] = [(value, round(share, 5)) for value, share in ranked]
    return Answer(sample.key, sample.source, fold_of(sample), values)


def main() -> None:
    """Answer, or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, help="what `export` wrote")
    parser.add_argument("--fold", type=int, help="answer for the vendors of this fold only")
    parser.add_argument("--data", type=Path, nargs="*", default=[])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", nargs="*", default=[])
    arguments = parser.parse_args()
    if arguments.table:
        parts = [part.partition("=") for part in arguments.table]
        systems = {
            name: [row for path in paths.split(",") for row in read_answers(Path(path))]
            for name, _, paths in parts
        }
        sys.stdout.write(table(systems, ("world", "sroie")))
        return
    model = PageModel(arguments.model)
    roles = model.vocabulary.roles
    answers: list[Answer] = []
    for sample in (sample for path in arguments.data for sample in read_samples(path)):
        if len(sample) <= LEAST_WORDS or arguments.fold not in {None, fold_of(sample)}:
            continue
        meanings = label_meanings(sample.texts, sample.lines)
        page = model.read(sample.texts, sample.boxes, sample.lines, meanings)
        answers.append(answer(roles, sample, page))
    write_answers(arguments.out, answers)
    sources = sorted({item.source for item in answers} & {"world", "sroie"})
    sys.stdout.write(table({"page model": answers}, sources))


if __name__ == "__main__":
    main()
