"""Comparison of the page model with others on the same pages: docmill as it is, and trees over candidates.

`python -m tools.page_model.baselines rules --data FILES --out FILE`, and the same with `trees`, which trains
docmill's own trees for names, addresses, dates and totals, and others for times, taxes and numbers, on the
vendors of the other folds. Needs the extra `learning`; no PyTorch.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from docmill.model.paths import value_at
from docmill.schemas.registry import REGISTRY
from docmill.training.generated_receipts import generate_receipts
from docmill.training.receipts import LabelledReceipt, Prepared, prepare, train_model, weigh
from docmill.understanding.offline import understand
from docmill.understanding.receipts.extractor import answers
from docmill.understanding.withholding import is_below_floor
from tools.page_model.candidate_trees import CandidateTrees, FieldCandidates
from tools.page_model.examples import FOLDS, LEAST_WORDS, fold_of
from tools.page_model.judging import PATHS, Answer, document_of, shown, write_answers
from tools.page_model.samples import Sample, read_samples
from tools.page_model.stacked import by_stacked_trees, read_chances

_LEARNED = ("seller.name", "seller.address", "issue_date", "gross_total")
_OTHERS = ("time", "tax_total", "number")
_MADE_UP = 500


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


def by_trees(samples: Sequence[Sample], prepared: Sequence[Prepared]) -> Iterator[Answer]:
    """Values by trees that are trained on the vendors of the other folds, and on made-up receipts."""
    made_up = [prepare(example) for example in generate_receipts(_MADE_UP, seed=11)]
    folds = [fold_of(sample) for sample in samples]
    rows = {
        path: [FieldCandidates(sample, item, path) for sample, item in zip(samples, prepared, strict=True)]
        for path in _OTHERS
    }
    for fold in range(FOLDS):
        train = [item for item, own in zip(prepared, folds, strict=True) if own != fold]
        model = train_model(weigh([*train, *made_up]))
        others = {
            path: CandidateTrees([sample for sample, own in zip(several, folds, strict=True) if own != fold])
            for path, several in rows.items()
            if any(one.is_labelled for one in several)
        }
        for index, (sample, item, own) in enumerate(zip(samples, prepared, folds, strict=True)):
            if own != fold:
                continue
            values: dict[str, list[tuple[str, float]]] = {}
            for path, answer in answers(item.candidates, item.ruled, model).items():
                chance = answer.score if answer.score is not None else float(answer.features[0])
                values[path] = [
                    (shown(answer.value), chance),
                    *((shown(rival.value), rival.probability) for rival in answer.rivals),
                ]
            for path, trees in others.items():
                values[path] = trees.answers(rows[path][index])
            yield Answer(sample.key, sample.source, fold, values)


def _example(sample: Sample) -> LabelledReceipt:
    truth = {path: texts[0] for path in _LEARNED if (texts := sample.values.get(path))}
    return LabelledReceipt(sample.key, sample.group, document_of(sample), truth)


def main() -> None:
    """Answer by one of the systems."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("system", choices=("rules", "trees", "stacked"))
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--words", type=Path, nargs="*", default=[], help="what `evaluate --words` kept")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    samples = [
        sample for path in arguments.data for sample in read_samples(path) if len(sample) > LEAST_WORDS
    ]
    if arguments.system == "rules":
        said = map(by_rules, samples)
    else:
        prepared = [prepare(_example(sample)) for sample in samples]
        if arguments.system == "trees":
            said = by_trees(samples, prepared)
        else:
            said = by_stacked_trees(samples, prepared, read_chances(arguments.words))
    write_answers(arguments.out, list(said))


if __name__ == "__main__":
    main()
