from decimal import Decimal

from bench.data.made_up_trades import LANGUAGES, made_up_trades

from docmill.schemas.outline import outline


def test_every_paper_prints_what_is_true_by_its_schema() -> None:
    papers = list(made_up_trades(20))

    assert len(papers) == 20 * len(LANGUAGES)
    assert {paper.layout for paper in papers} == {"glued", "columns"}
    printed = [paper for paper in papers if paper.document.pages[0].source == "text"]
    assert printed
    for paper in printed:
        assert [field.path for field in outline(paper.schema)] == list(paper.truth)
        texts = [paper.truth[field.path] for field in outline(paper.schema) if field.kind == "text"]
        assert all(text in " ".join(paper.document.text.split()) for text in texts if text)


def test_the_same_seed_gives_the_same_papers() -> None:
    first, second, other = (list(made_up_trades(2, seed=seed)) for seed in (1, 1, 2))

    assert [paper.truth for paper in first] == [paper.truth for paper in second]
    assert [paper.truth for paper in first] != [paper.truth for paper in other]


def test_a_minus_of_a_debit_is_no_other_amount() -> None:
    paper = next(paper for paper in made_up_trades(20) if paper.truth.get("net_amount"))
    net = Decimal(paper.truth["net_amount"] or "")

    assert paper.is_right("net_amount", -net)
    assert not paper.is_right("net_amount", net + 1)
