"""Write a trained page model for onnxruntime, in bytes, and compare it with the network it was made from.

`python -m tools.page_model.export --state FILE --out FOLDER` needs PyTorch, onnx and onnxruntime.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic

from docmill.understanding.page_model.model import FACTS, INPUTS, PageModel
from tools.page_model.examples import Batch, batch_of, labelled_page
from tools.page_model.samples import read_samples
from tools.page_model.train import trained_network

_COMPARED, _RUNS, _WORDS = 60, 20, 300


def export(network: torch.nn.Module, outputs: Sequence[str], example: Batch, path: Path) -> None:
    """Write the network as ONNX in 32 bits, and beside it with its table in 8."""
    whole = path.with_suffix(".float.onnx")
    inputs = tuple(torch.from_numpy(array) for array in example[:5])
    axes = {name: {0: "pages", 1: "words"} for name in INPUTS}
    axes |= {name: {0: "pages", 1: "words"} for name in outputs[:2]} | {
        name: {0: "pages"} for name in outputs[2:]
    }
    torch.onnx.export(
        network,
        inputs,
        whole,
        input_names=INPUTS,
        output_names=outputs,
        dynamic_axes=axes,
        dynamo=False,
        opset_version=17,
    )
    quantize_dynamic(
        whole,
        path,
        weight_type=QuantType.QInt8,
        op_types_to_quantize=["Gather"],  # the table: two thirds of the weights; the rest loses by it
    )


def main() -> None:
    """Export, and print sizes, times and differences."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True, help="pages to compare on")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    network, vocabulary = trained_network(arguments.state)
    samples = list(read_samples(arguments.data))[:_COMPARED]
    pages = [labelled_page(sample, vocabulary) for sample in samples]
    whole = arguments.out.with_suffix(".float.onnx")
    export(network, ("roles", "goes_on", *FACTS), batch_of(pages[:2]), arguments.out)
    for path in (whole, arguments.out):
        path.with_suffix(".json").write_text(vocabulary.to_json(), encoding="utf-8")
        model = PageModel(path)
        same = known = 0
        most = 0.0
        for page in pages:
            with torch.no_grad():
                inputs = [torch.from_numpy(array) for array in batch_of([page])[:5]]
                truth = network(*inputs)[0][0].softmax(-1).numpy()
            shares = model.read(page.texts, page.boxes, page.lines, page.meanings).roles
            same += int((shares.argmax(-1) == truth.argmax(-1)).sum())
            known += len(page)
            most = max(most, float(np.abs(shares - truth).max()))
        usual = min(pages, key=lambda page: abs(len(page) - _WORDS))
        began = time.process_time()
        for _ in range(_RUNS):
            model.read(usual.texts, usual.boxes, usual.lines, usual.meanings)
        spent = (time.process_time() - began) / _RUNS
        sys.stdout.write(
            f"{path.name}: {path.stat().st_size / 1e6:.2f} MB, same role {same / known:.5f} of {known}, "
            f"largest difference {most:.3f}, {spent * 1e3:.1f} ms of a core for {len(usual)} words\n"
        )


if __name__ == "__main__":
    main()
