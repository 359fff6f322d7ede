"""The network itself, where PyTorch is installed: it is no dependency of docmill."""

from pathlib import Path

import numpy as np
import pytest
from tools.page_model.examples import batch_of, labelled_page, vocabulary_of
from tools.page_model.samples import PageFacts, Sample

from docmill.understanding.page_model.model import FACTS, PageModel

torch = pytest.importorskip("torch", reason="PyTorch is for training only: requirements/training.txt")
torch.set_num_threads(1)  # threads that wait for a busy core take minutes


def _sample(count: int, key: str) -> Sample:
    return Sample(
        key=key,
        source="test",
        group=key,
        kind="receipt",
        facts=PageFacts("receipt", "at", "de", "EUR"),
        texts=["Café", "Adler", *(f"{number},00" for number in range(count - 2))],
        boxes=np.array([[0.1, y, 0.3, y + 0.02] for y in np.linspace(0, 1, count)], np.float32),
        lines=np.arange(count, dtype=np.int32),
        roles=["seller.name", "seller.name", *["none"] * (count - 3), "gross_total"],
        goes_on=[False, True, *[False] * (count - 2)],
        known=("seller.name", "gross_total"),
    )


def test_a_page_is_read_alike_alone_and_beside_a_longer_one() -> None:
    from tools.page_model.network import PageNetwork, Shape  # noqa: PLC0415 - needs PyTorch

    samples = [_sample(8, "short"), _sample(20, "long")]
    vocabulary = vocabulary_of(samples)
    pages = [labelled_page(sample, vocabulary) for sample in samples]
    torch.manual_seed(1)
    network = PageNetwork(len(vocabulary.roles), [len(fact) for fact in vocabulary.facts], Shape()).eval()

    with torch.no_grad():
        together = network(*map(torch.from_numpy, batch_of(pages)[:5]))
        alone = network(*map(torch.from_numpy, batch_of(pages[:1])[:5]))

    assert torch.allclose(together[0][0, :8], alone[0][0], atol=1e-4)
    assert torch.allclose(together[2][0], alone[2][0], atol=1e-4)


def test_a_page_is_learned_by_heart(tmp_path: Path) -> None:
    from tools.page_model.network import Shape  # noqa: PLC0415 - needs PyTorch
    from tools.page_model.train import Run, trained_network  # noqa: PLC0415 - needs PyTorch

    sample = _sample(12, "one")
    vocabulary = vocabulary_of([sample])
    batch = batch_of([labelled_page(sample, vocabulary)])
    torch.manual_seed(1)
    run = Run(vocabulary, Shape(), 60, 3e-3)

    for _ in range(60):
        parts = run.learn(batch)
    torch.save(run.state(1), tmp_path / "state.pt")
    network, kept = trained_network(tmp_path / "state.pt")
    with torch.no_grad():
        roles = network(*map(torch.from_numpy, batch[:5]))[0][0].argmax(-1)

    assert kept == vocabulary
    assert parts["roles"] < 0.1
    assert [vocabulary.roles[role] for role in roles] == sample.roles


@pytest.mark.filterwarnings("ignore")  # of the exporter, about itself
def test_the_exported_network_says_the_same_in_bytes(tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="onnx is for training only: requirements/training.txt")
    from tools.page_model.export import export  # noqa: PLC0415 - needs PyTorch
    from tools.page_model.network import PageNetwork, Shape  # noqa: PLC0415 - needs PyTorch

    samples = [_sample(8, "short"), _sample(20, "long")]
    vocabulary = vocabulary_of(samples)
    pages = [labelled_page(sample, vocabulary) for sample in samples]
    torch.manual_seed(1)
    network = PageNetwork(len(vocabulary.roles), [len(fact) for fact in vocabulary.facts], Shape()).eval()

    export(network, ("roles", "goes_on", *FACTS), batch_of(pages), tmp_path / "model.onnx")
    (tmp_path / "model.json").write_text(vocabulary.to_json(), encoding="utf-8")
    page = pages[1]
    read = PageModel(tmp_path / "model.onnx").read(page.texts, page.boxes, page.lines, page.meanings)
    with torch.no_grad():
        roles = network(*map(torch.from_numpy, batch_of([page])[:5]))[0][0].softmax(-1).numpy()

    assert np.abs(read.roles - roles).max() < 0.1
    assert read.facts["country"] == {"at": 1.0}
