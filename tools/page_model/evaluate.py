"""What a trained page model says of pages of vendors it has not seen.

`python -m tools.page_model.evaluate --state FILE --fold 0 --data FILES --out FILE`; then
`python -m tools.page_model.evaluate --table NAME=FILE,FILE ...` prints the comparison.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from docmill.understanding.fields.analysis_cache import candidates_of
from tools.page_model.decode import PageReading, class_shares, text_spans, value_spans
from tools.page_model.examples import FACTS, LEAST_WORDS, Vocabulary, batch_of, fold_of, labelled_page
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
from tools.page_model.network import PageNetwork
from tools.page_model.samples import Sample, read_samples
from tools.page_model.train import trained_network

TEXTS = ("seller.name", "seller.address")


def read(network: PageNetwork, vocabulary: Vocabulary, sample: Sample) -> tuple[PageReading, list[Tensor]]:
    """The probabilities of the words of a sample, and the logits of its facts."""
    with torch.no_grad():
        inputs = batch_of([labelled_page(sample, vocabulary)])[:5]
        outputs: tuple[Tensor, ...] = network(*(torch.from_numpy(array) for array in inputs))
    roles, goes_on, *facts = (output[0].double() for output in outputs)
    return PageReading(roles.softmax(-1).numpy(), goes_on.sigmoid().numpy()), facts


def answer(vocabulary: Vocabulary, sample: Sample, reading: PageReading, facts: Sequence[Tensor]) -> Answer:
    """Every field of a page, from words and from docmill's own candidates."""
    candidates = candidates_of(document_of(sample))
    segments = [(segment.start, segment.stop) for segment in candidates.layout.segments]
    values: dict[str, list[tuple[str, float]]] = {}
    for path in PATHS.values():
        if path not in vocabulary.roles or not (path in FORMS or path in TEXTS):
            continue
        role = vocabulary.roles.index(path)
        if path in TEXTS:
            scored = text_spans(sample.texts, segments, reading, role)
        else:
            scored = value_spans(places(candidates.of_form(FORMS[path])), reading, role)
        values[path] = [(shown(item.value), round(item.probability, 5)) for item in scored]
    for name, logits, names in zip(FACTS, facts, vocabulary.facts, strict=True):
        shares = class_shares(logits.numpy(), names)
        values[name] = sorted(
            ((key, round(share, 5)) for key, share in shares.items()), key=lambda pair: -pair[1]
        )[:3]
    return Answer(sample.key, sample.source, fold_of(sample), values)


def main() -> None:
    """Answer, or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--state", type=Path)
    parser.add_argument("--fold", type=int, help="answer for the vendors of this fold only")
    parser.add_argument("--data", type=Path, nargs="*", default=[])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--words", type=Path, help="keep the probabilities of words here, for `stacked`")
    parser.add_argument("--table", nargs="*", default=[])
    arguments = parser.parse_args()
    if arguments.table:
        named = {part.partition("=")[0]: part.partition("=")[2].split(",") for part in arguments.table}
        systems = {
            name: [row for path in paths for row in read_answers(Path(path))] for name, paths in named.items()
        }
        sys.stdout.write(table(systems, ("world", "sroie")))
        return
    torch.set_num_threads(1)
    network, vocabulary = trained_network(arguments.state)
    samples = [
        sample for path in arguments.data for sample in read_samples(path) if len(sample) > LEAST_WORDS
    ]
    samples = [sample for sample in samples if arguments.fold is None or fold_of(sample) == arguments.fold]
    answers: list[Answer] = []
    kept: dict[str, Any] = {"names": np.array(vocabulary.roles)}
    keys = [f"{sample.source} {sample.key}" for sample in samples]
    for key, sample in zip(keys, samples, strict=True):
        reading, facts = read(network, vocabulary, sample)
        kept |= {
            f"{key} roles": reading.roles.astype(np.float16),
            f"{key} goes on": reading.goes_on.astype(np.float16),
        }
        answers.append(answer(vocabulary, sample, reading, facts))
    if arguments.words is not None:
        np.savez_compressed(arguments.words, keys=np.array(keys), **kept)
    write_answers(arguments.out, answers)
    sys.stdout.write(
        table({"page model": answers}, tuple(sorted({item.source for item in answers} & {"world", "sroie"})))
    )


if __name__ == "__main__":
    main()
