"""Answers of docmill as it is on the pages that the page model is measured on, for comparison.

`python -m tools.page_model.docmill_as_it_is --data FILES --out FILE`
"""

import argparse
from pathlib import Path

from docmill.model.paths import value_at
from docmill.schemas.registry import REGISTRY
from docmill.understanding.offline import understand
from docmill.understanding.withholding import is_below_floor
from tools.page_model.examples import LEAST_WORDS, fold_of
from tools.page_model.judging import PATHS, Answer, document_of, write_answers
from tools.page_model.samples import Sample, read_samples


def by_rules(sample: Sample) -> Answer:
    """Values that docmill reads of the page today, and those of them that it believes."""
    extraction = understand(document_of(sample)).extraction
    schema, data = (
        REGISTRY.get(extraction.document_type) or REGISTRY["other"],
        extraction.data.model_dump(mode="json"),
    )
    said = Answer(sample.key, sample.source, fold_of(sample), {})
    for path in PATHS.values():
        proof, value = extraction.evidence.get(path), value_at(data, path)
        suggested = [
            (str(item.value), item.evidence.confidence) for item in extraction.suggestions.get(path, ())
        ]
        if proof is not None and value not in (None, ""):
            said.values[path] = [(str(value), proof.confidence), *suggested]
            if not is_below_floor(schema, path, proof):
                said.believed.append(path)
        elif suggested:
            said.values[path] = suggested
    return said


def main() -> None:
    """Answer as docmill does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    samples = (sample for path in arguments.data for sample in read_samples(path))
    write_answers(arguments.out, [by_rules(sample) for sample in samples if len(sample) > LEAST_WORDS])


if __name__ == "__main__":
    main()
