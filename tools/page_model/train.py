"""Train the page model: `python -m tools.page_model.train --data FILES --out FILE [--fold 0]`.

Needs PyTorch (`requirements/training.txt`), runs on one core, writes its state every few minutes and goes on
from it when it is started again.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from docmill.understanding.page_model.model import Vocabulary
from tools.page_model.augment import vary
from tools.page_model.examples import (
    LEAST_WORDS,
    UNKNOWN,
    Batch,
    LabelledPage,
    batch_of,
    batches_by_length,
    fold_of,
    labelled_page,
    vocabulary_of,
)
from tools.page_model.network import WORD_CLASSES, PageNetwork, Shape
from tools.page_model.samples import Sample, read_samples
from tools.page_model.sources import is_kept_back
from tools.page_model.swaps import ValuePool

_HIDE = 0.12
_KEPT = 0.998
"""Share of the average of the weights that stays at each step."""
_SAVE_S = 180
_UNCHANGED = 0.15


def losses(network: PageNetwork, batch: Batch) -> dict[str, Tensor]:
    """The parts of the loss; words and facts that nobody knows do not count."""
    inputs = [torch.from_numpy(array) for array in batch[:5]]
    words = network.words(*inputs)
    roles, goes_on, *facts = network.heads(words, inputs[4])
    truth = torch.from_numpy(batch.roles)
    valued = truth > 0
    hidden = torch.from_numpy(batch.hidden)
    seen = hidden != UNKNOWN
    fact_losses = [
        functional.cross_entropy(logits, torch.from_numpy(batch.facts[:, index]), ignore_index=UNKNOWN)
        for index, logits in enumerate(facts)
        if (batch.facts[:, index] != UNKNOWN).any()
    ]
    nothing = words.sum() * 0
    return {
        "roles": _role_loss(roles, truth, torch.from_numpy(batch.open_roles))
        if (truth != UNKNOWN).any()
        else nothing,
        "goes on": functional.binary_cross_entropy_with_logits(
            goes_on[valued], torch.from_numpy(batch.goes_on)[valued]
        )
        if valued.any()
        else nothing,
        "facts": sum(fact_losses, nothing) / max(1, len(fact_losses)),
        "hidden": functional.cross_entropy(network.hidden_word(words[seen]), hidden[seen])
        if seen.any()
        else nothing,
    }


def _role_loss(logits: Tensor, truth: Tensor, open_roles: Tensor) -> Tensor:
    """Mean surprise over the labelled words; one without a role may have any that nobody labelled there."""
    chances = functional.log_softmax(logits, -1)
    right = chances.gather(-1, truth.clamp(min=0)[..., None]).squeeze(-1)
    free = chances.masked_fill(~open_roles[:, None, :], -1e4).logsumexp(-1)
    return -torch.where(truth == 0, free, right)[truth != UNKNOWN].mean()


WEIGHTS = {"roles": 1.0, "goes on": 0.3, "facts": 0.1, "hidden": 0.1}


class Run:
    """A training that can be continued: network, optimiser, the average of the weights, and the step."""

    def __init__(self, vocabulary: Vocabulary, shape: Shape, steps: int, rate: float) -> None:
        self.vocabulary, self.shape, self.steps, self.rate = vocabulary, shape, steps, rate
        self.network = PageNetwork(len(vocabulary.roles), [len(fact) for fact in vocabulary.facts], shape)
        named = dict(self.network.named_parameters())
        free = {name for name, value in named.items() if value.ndim == 1 or "table" in name}
        held = [named[name] for name in named if name in free]
        decayed = [named[name] for name in named if name not in free]
        self.optimiser = torch.optim.AdamW(
            [{"params": decayed, "weight_decay": 0.05}, {"params": held, "weight_decay": 0.0}],
            lr=rate,
            fused=True,
        )
        self.average = {name: value.detach().clone() for name, value in self.network.state_dict().items()}
        self.step = 0

    def learn(self, batch: Batch) -> dict[str, float]:
        """One step on a batch; the parts of the loss."""
        warm = min(1.0, (self.step + 1) / 100)
        for group in self.optimiser.param_groups:
            group["lr"] = (
                self.rate
                * warm
                * (0.02 + 0.98 * (1 + math.cos(math.pi * min(1, self.step / self.steps))) / 2)
            )
        parts = losses(self.network, batch)
        self.optimiser.zero_grad(set_to_none=True)
        sum(WEIGHTS[name] * part for name, part in parts.items()).backward()  # type: ignore[union-attr]
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimiser.step()
        self.step += 1
        kept = min(_KEPT, self.step / (self.step + 10))
        with torch.no_grad():
            for name, value in self.network.state_dict().items():
                self.average[name].lerp_(value, 1 - kept)
        return {name: float(part.detach()) for name, part in parts.items()}

    def state(self, epoch: int) -> dict[str, Any]:
        """All that is needed to go on, or to use the averaged weights."""
        return {
            "vocabulary": tuple(self.vocabulary),
            "shape": tuple(self.shape),
            "weights": self.network.state_dict(),
            "average": self.average,
            "optimiser": self.optimiser.state_dict(),
            "step": self.step,
            "epoch": epoch,
        }

    def go_on(self, state: dict[str, Any]) -> int:
        """Take up a kept state; the next epoch."""
        self.network.load_state_dict(state["weights"])
        self.average = state["average"]
        self.optimiser.load_state_dict(state["optimiser"])
        self.step = state["step"]
        return int(state["epoch"])


def take_over(network: PageNetwork, vocabulary: Vocabulary, base: Path) -> None:
    """Begin with the weights of another training; roles and facts that it does not know begin anew."""
    other, known = trained_network(base)
    weights, given = network.state_dict(), other.state_dict()
    heads = {"roles": (vocabulary.roles, known.roles)}
    heads |= {
        f"facts.{index}": pair for index, pair in enumerate(zip(vocabulary.facts, known.facts, strict=True))
    }
    for name, weight in weights.items():
        own, others = heads.get(name.rpartition(".")[0], ((), ()))
        if not own:
            weight.copy_(given[name])
        for row, role in enumerate(own):
            if role in others:
                weight[row] = given[name][others.index(role)]


def trained_network(path: Path) -> tuple[PageNetwork, Vocabulary]:
    """The network with the averaged weights of a kept state, ready to be asked."""
    state = torch.load(path, weights_only=True)
    vocabulary = Vocabulary(*state["vocabulary"])
    network = PageNetwork(
        len(vocabulary.roles), [len(fact) for fact in vocabulary.facts], Shape(*state["shape"])
    )
    network.load_state_dict(state["average"])
    return network.eval(), vocabulary


class Pages:
    """The pages to train on, and the values that they lend each other."""

    def __init__(self, samples: Sequence[Sample], vocabulary: Vocabulary, made_up: int) -> None:
        self.real = [sample for sample in samples if sample.source != "made-up"]
        self._made_up = [sample for sample in samples if sample.source == "made-up"]
        self._count, self._vocabulary = made_up, vocabulary
        self._pool = ValuePool.of(samples)

    def epoch(self, number: int, draw: np.random.Generator) -> list[LabelledPage]:
        """A variation of each real page, and of some made-up ones; some pages stay as they are."""
        chosen = [self._made_up[index] for index in draw.permutation(len(self._made_up))[: self._count]]
        varied = [
            sample if draw.random() < _UNCHANGED else vary(sample, self._pool, number)
            for sample in (*self.real, *chosen)
        ]
        return [labelled_page(sample, self._vocabulary) for sample in varied if len(sample) > LEAST_WORDS]


def _log(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Train one network."""
    arguments = _arguments()
    torch.set_num_threads(1)
    torch.manual_seed(arguments.seed)
    stored = [sample for path in arguments.data for sample in read_samples(path) if len(sample) > LEAST_WORDS]
    vocabulary = vocabulary_of(stored)
    draw = np.random.default_rng(arguments.seed)
    chosen = [
        sample
        for sample in stored
        if sample.source not in arguments.without
        and not is_kept_back(sample)
        and (arguments.fold is None or fold_of(sample) != arguments.fold)
        and (sample.source == "made-up" or draw.random() < arguments.share)
    ]
    pages = Pages(chosen, vocabulary, arguments.made_up)
    steps = len(batches_by_length(pages.epoch(0, draw), arguments.words, draw)) * arguments.epochs
    run = Run(
        vocabulary,
        Shape(arguments.embedding, arguments.width, arguments.layers, arguments.heads),
        steps,
        arguments.rate,
    )
    start = run.go_on(torch.load(arguments.out, weights_only=True)) if arguments.out.exists() else 0
    if arguments.base is not None and not start:
        take_over(run.network, vocabulary, arguments.base)
        run.average = {name: value.detach().clone() for name, value in run.network.state_dict().items()}
    weights = sum(value.numel() for value in run.network.parameters())
    _log(f"{len(pages.real)} real of {len(chosen)} pages, {weights:,} weights, {steps} steps")
    began = saved = time.monotonic()
    for epoch in range(start, arguments.epochs):
        draw = np.random.default_rng((arguments.seed, epoch))
        sums: dict[str, float] = {}
        groups = batches_by_length(pages.epoch(epoch, draw), arguments.words, draw)
        for group in groups:
            for name, part in run.learn(batch_of(group, hide=_HIDE, classes=WORD_CLASSES, draw=draw)).items():
                sums[name] = sums.get(name, 0) + part / len(groups)
        shown = {name: round(value, 4) for name, value in sums.items()}
        _log(json.dumps({"epoch": epoch, "s": round(time.monotonic() - began), **shown}))
        if time.monotonic() - saved > _SAVE_S or epoch + 1 == arguments.epochs:
            saved = time.monotonic()
            partial = arguments.out.with_suffix(".part")
            torch.save(run.state(epoch + 1), partial)
            partial.replace(arguments.out)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--base", type=Path, help="the state of a training to begin with")
    parser.add_argument("--fold", type=int, help="leave out the vendors of this fold")
    parser.add_argument("--without", nargs="*", default=[], help="leave out these sources")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--made-up", type=int, default=1000, help="made-up pages in an epoch")
    parser.add_argument("--share", type=float, default=1.0, help="of the real pages")
    parser.add_argument("--words", type=int, default=2400, help="most words of a batch")
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=1)
    for name, value in Shape()._asdict().items():
        parser.add_argument(f"--{name}", type=int, default=value)
    return parser.parse_args()


if __name__ == "__main__":
    main()
