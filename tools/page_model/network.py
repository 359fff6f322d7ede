"""The page model: words with their boxes in, the role of every word and facts of the page out."""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from docmill.understanding.page_model.features import BUCKETS, NEIGHBOURS, NUMBERS, PADDING

WORD_CLASSES = 4096
"""Classes of words that are guessed where a word is hidden."""
_DISTANCES = 12


class Shape(NamedTuple):
    """Sizes of a network. embedding: of a hash; width: of a word; heads: of attention."""

    embedding: int = 64
    width: int = 128
    layers: int = 3
    heads: int = 4


class Outputs(NamedTuple):
    """Logits. roles: (pages, words, roles); goes_on: (pages, words); facts: each (pages, classes)."""

    roles: Tensor
    goes_on: Tensor
    facts: list[Tensor]


class Layer(nn.Module):
    """Attention over the words of a page, weighed by their relative places, and a mix of each word."""

    def __init__(self, shape: Shape, dropout: float) -> None:
        super().__init__()
        width = shape.width
        self.heads = shape.heads
        self.before = nn.LayerNorm(width)
        self.between = nn.LayerNorm(width)
        self.queries = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.wide = nn.Linear(width, 2 * width)
        self.narrow = nn.Linear(2 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, words: Tensor, bias: Tensor) -> Tensor:
        """words: (pages, words, width). bias: (pages, heads, words, words), minus infinity where hidden."""
        pages, count, width = words.shape
        parts = self.queries(self.before(words)).view(pages, count, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        scores = query @ key.transpose(-1, -2) * (width // self.heads) ** -0.5 + bias
        seen = torch.softmax(scores, -1) @ value
        words = words + self.dropout(self.out(seen.transpose(1, 2).reshape(pages, count, width)))
        return words + self.dropout(self.narrow(functional.gelu(self.wide(self.between(words)))))


class PageNetwork(nn.Module):
    """See the module. facts: the number of classes of each fact of the page."""

    def __init__(self, roles: int, facts: list[int], shape: Shape, dropout: float = 0.1) -> None:
        super().__init__()
        self.shape = shape
        self.table = nn.Embedding(BUCKETS, shape.embedding, padding_idx=PADDING)
        nn.init.normal_(self.table.weight, std=0.5)
        with torch.no_grad():
            self.table.weight[PADDING].zero_()
        self.own = nn.Linear(shape.embedding + NUMBERS, shape.width)
        self.beside = nn.Linear(NEIGHBOURS * shape.embedding, shape.width)
        self.distances = nn.Sequential(
            nn.Linear(7, _DISTANCES), nn.ReLU(), nn.Linear(_DISTANCES, shape.heads)
        )
        self.layers = nn.ModuleList(Layer(shape, dropout) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.width)
        self.dropout = nn.Dropout(dropout)
        self.roles = nn.Linear(shape.width, roles)
        self.goes_on = nn.Linear(shape.width, 1)
        self.hidden_word = nn.Linear(shape.width, WORD_CLASSES)
        self.page = nn.Linear(2 * shape.width, shape.width)
        self.facts = nn.ModuleList(nn.Linear(shape.width, classes) for classes in facts)

    def words(
        self, grams: Tensor, numbers: Tensor, neighbours: Tensor, places: Tensor, mask: Tensor
    ) -> Tensor:
        """The words as vectors after the last layer. mask: (pages, words), 1 for a word, 0 for padding."""
        pages, count, _ = grams.shape
        counts = (grams != PADDING).sum(-1, keepdim=True).clamp(min=1).to(numbers.dtype)
        if self.training:
            bags = functional.embedding_bag(
                grams.view(pages * count, -1), self.table.weight, mode="sum", padding_idx=PADDING
            ).view(pages, count, -1)
        else:
            bags = self.table(grams).sum(-2)
        bags = bags / counts.sqrt()
        nothing = torch.zeros_like(bags[:, :1])
        padded = torch.cat([bags, nothing], 1)
        index = neighbours.view(pages, -1, 1).expand(-1, -1, bags.shape[-1])
        beside = padded.gather(1, index).view(pages, count, -1)
        words = self.dropout(functional.gelu(self.own(torch.cat([bags, numbers], -1)) + self.beside(beside)))
        bias = self.distances(_relations(places)).permute(0, 3, 1, 2)
        bias = bias + (1 - mask)[:, None, None, :] * -1e4
        for layer in self.layers:
            words = layer(words, bias)
        return self.norm(words)

    def forward(
        self, grams: Tensor, numbers: Tensor, neighbours: Tensor, places: Tensor, mask: Tensor
    ) -> tuple[Tensor, ...]:
        """Logits of roles, of going on, and of each fact."""
        return self.heads(self.words(grams, numbers, neighbours, places, mask), mask)

    def heads(self, words: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        """The logits for words after the last layer."""
        shares = mask[..., None]
        mean = (words * shares).sum(1) / shares.sum(1)
        most = (words + (shares - 1) * 1e4).amax(1)
        page = functional.gelu(self.page(torch.cat([mean, most], -1)))
        return self.roles(words), self.goes_on(words).squeeze(-1), *(fact(page) for fact in self.facts)


def _relations(places: Tensor) -> Tensor:
    """Where each word stands from each other word; shape (pages, words, words, 7)."""
    left, right, middle, line, index = places.unbind(-1)

    def signed(far: Tensor) -> Tensor:
        return torch.sign(far) * torch.log1p(far.abs()) / math.log(10)

    def between(ends: Tensor, starts: Tensor) -> Tensor:
        return signed(ends[:, None, :] - starts[:, :, None])

    return torch.stack(
        [
            between(left, left),
            between(right, right),
            between(left, right),
            between(middle, middle),
            between(index, index),
            (line[:, None, :] == line[:, :, None]).to(places.dtype),
            ((line[:, None, :] - line[:, :, None]).abs() == 1).to(places.dtype),
        ],
        -1,
    )
