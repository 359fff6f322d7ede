"""Measure the types of made-up papers in languages, layouts and wordings that nothing was trained on.

Prints precision and recall of each type, which layouts and languages fail, how often a person is asked, and
how often the fields of letters are right. The papers are in `bench/data/type_papers.toml`.

Usage: python -m bench type_papers [--errors]
"""

from collections import Counter, defaultdict

from bench.arguments import argument_parser
from bench.data.type_papers import TypePaper, type_papers
from docmill.model.result import Classification
from docmill.understanding.types.classifier import classify

Judged = tuple[TypePaper, Classification]


def show_types(judged: list[Judged]) -> None:
    types = sorted({paper.document_type for paper, _ in judged})
    scores: list[float] = []
    for name in types:
        own = [said for paper, said in judged if paper.document_type == name]
        right = sum(said.document_type == name for said in own)
        given = sum(said.document_type == name for _, said in judged)
        scores.append(2 * right / (len(own) + given))
        taken = Counter(said.document_type for said in own if said.document_type != name)
        asked = sum(bool(said.doubt) for said in own)
        print(
            f"{name:15} n={len(own):4} precision {right / max(1, given):.3f}, recall {right / len(own):.3f},"
            f" F1 {scores[-1]:.3f}, asked {asked} {dict(taken) or ''}"
        )
    print(f"macro-F1 {sum(scores) / len(scores):.3f} of {len(judged)} papers")
    wrong = [said for paper, said in judged if paper.document_type != said.document_type]
    print(f"wrong {len(wrong)}, of them asked {sum(bool(said.doubt) for said in wrong)};", end=" ")
    print(f"right and asked {sum(bool(s.doubt) for p, s in judged if p.document_type == s.document_type)}")


def show_parts(judged: list[Judged]) -> None:
    for part in ("form", "kind", "language", "layout"):
        shares: dict[str, list[bool]] = defaultdict(list)
        for paper, said in judged:
            shares[getattr(paper, part)].append(paper.document_type == said.document_type)
        print(part, {name: f"{sum(right) / len(right):.3f}" for name, right in shares.items()})


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--errors", action="store_true")
    arguments = parser.parse_args()
    judged = [(paper, classify(paper.document)) for paper in type_papers()]
    for is_set_aside in (False, True):
        print("set aside" if is_set_aside else "looked at")
        half = [item for item in judged if item[0].is_set_aside == is_set_aside]
        show_types(half)
        show_parts(half)
    if arguments.errors:
        for paper, said in judged:
            if paper.document_type != said.document_type and not paper.is_set_aside:
                print(
                    paper.form, paper.language, paper.layout, paper.kind, "as", said.document_type,
                    said.confidence, repr(paper.truth["subject"]), said.doubt,
                )  # fmt: skip


if __name__ == "__main__":
    main()
