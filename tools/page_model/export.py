"""Write a trained page model for onnxruntime, in bytes, and compare it with the network it was made from.

`python -m tools.page_model.export --state FILE --out FOLDER` needs PyTorch, onnx and onnxruntime.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic

from tools.page_model.examples import FACTS, Batch, LabelledPage, batch_of, labelled_page
from tools.page_model.samples import read_samples
from tools.page_model.train import trained_network

INPUTS = ("grams", "numbers", "neighbours", "places", "mask")


def export(network: torch.nn.Module, outputs: Sequence[str], example: Batch, path: Path) -> None:
    """Write the network as ONNX in 32 bits, and beside it in 8."""
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
        per_channel=True,
        op_types_to_quantize=["MatMul", "Gemm", "Gather"],
        extra_options={"MatMulConstBOnly": True},
    )


def session(path: Path) -> onnxruntime.InferenceSession:
    """A session on one core."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def asked(model: onnxruntime.InferenceSession, page: LabelledPage) -> list[Any]:
    """The outputs of an exported model for one page."""
    return model.run(None, dict(zip(INPUTS, batch_of([page])[:5], strict=True)))


def main() -> None:
    """Export, and print sizes, times and differences."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True, help="pages to compare on")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    network, vocabulary = trained_network(arguments.state)
    pages = [labelled_page(sample, vocabulary) for sample in read_samples(arguments.data)][:60]
    export(network, ("roles", "goes_on", *FACTS), batch_of(pages[:2]), arguments.out)
    arguments.out.with_suffix(".json").write_text(
        json.dumps(vocabulary._asdict(), indent=1) + "\n", encoding="utf-8"
    )
    for path in (arguments.out.with_suffix(".float.onnx"), arguments.out):
        model = session(path)
        same = known = 0
        most = 0.0
        for page in pages:
            with torch.no_grad():
                truth = (
                    network(*(torch.from_numpy(array) for array in batch_of([page])[:5]))[0]
                    .softmax(-1)
                    .numpy()
                )
            given = asked(model, page)[0]
            shares = np.exp(given - given.max(-1, keepdims=True))
            shares /= shares.sum(-1, keepdims=True)
            same += int((shares.argmax(-1) == truth.argmax(-1)).sum())
            known += len(page)
            most = max(most, float(np.abs(shares - truth).max()))
        longest = min(pages, key=lambda page: abs(len(page) - 300))
        began = time.perf_counter()
        for _ in range(20):
            asked(model, longest)
        spent = (time.perf_counter() - began) / 20
        sys.stdout.write(
            f"{path.name}: {path.stat().st_size / 1e6:.2f} MB, same role {same / known:.5f} of {known}, "
            f"largest difference {most:.3f}, {spent * 1e3:.1f} ms for {len(longest)} words with features"
        )


if __name__ == "__main__":
    main()
