"""Measure fields and lists of the generated born-digital samples against their truth.

Usage: python -m bench born_digital_samples FOLDER [--errors]. The samples are written to FOLDER.
Text is compared by letters and digits, dates and amounts as values. What follows from other values and
is in no truth, such as the amount due of an invoice that prints none, is counted apart.
"""

from collections import Counter
from pathlib import Path

from bench.arguments import argument_parser
from bench.data.text_layer import text_layer
from docmill.demo import generate
from docmill.model.document import letters_and_digits
from docmill.model.paths import leaves
from docmill.schemas.registry import REGISTRY
from docmill.understanding.gate import RuleGate
from docmill.understanding.receipts.extractor import extract_built_in
from docmill.understanding.types.classifier import classify


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--errors", action="store_true")
    arguments = parser.parse_args()
    counts: Counter[str] = Counter()
    for sample in generate(arguments.folder):
        if sample.form != "born-digital":
            continue
        document = text_layer(sample.path)
        classification = classify(document)
        counts["documents"] += 1
        counts["type right"] += classification.document_type == sample.document_type
        counts["language right"] += classification.language == sample.language
        schema = REGISTRY[sample.document_type]
        extraction = extract_built_in(document, schema)
        counts["gate passed"] += RuleGate().judge(document, extraction, schema).passed
        truth, given = dict(leaves(sample.truth)), dict(leaves(extraction.data))
        for path in sorted({*truth, *given}):
            wanted, found = truth.get(path), given.get(path)
            if isinstance(wanted, str) and isinstance(found, str):
                right = letters_and_digits(wanted) == letters_and_digits(found)
            else:
                right = wanted == found
            outcome = "right" if right else "missing" if found is None else "wrong" if wanted else "invented"
            if wanted is None and extraction.evidence[path].match == "computed":
                outcome = "computed"
            counts[outcome] += 1
            if arguments.errors and not right:
                print(sample.name, classification.document_type, path, "|", wanted, "|", found)
    print(dict(counts))
    answered = counts["right"] + counts["wrong"] + counts["invented"]
    labelled = counts["right"] + counts["wrong"] + counts["missing"]
    print(f"precision {counts['right'] / answered:.3f}, recall {counts['right'] / labelled:.3f}")


if __name__ == "__main__":
    main()
