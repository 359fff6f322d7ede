"""Tags: a few words by which a document is found again, spelt as they are in use."""

import re
from collections.abc import Iterable, Iterator, Sequence

from docmill.model.paths import leaves
from docmill.model.result import Classification, Extraction
from docmill.understanding.text.folding import fold

MOST = 5
LONGEST = 40
_SHORTEST_PLURAL = 4
_NAME = ".name"
"""The end of the paths of the names of parties."""


def choose_tags(suggested: Iterable[object], used: Sequence[str] = ()) -> tuple[str, ...]:
    """Up to five of `suggested`, each once; those of `used` come first, spelt as there.

    used: the tags in use, the most used first. Tags are the same whatever their case, accents, signs between
    their words, and whether they are singular or plural. What is no tag is left out.
    """
    spelt: dict[str, str] = {}
    for tag in used:
        spelt.setdefault(_key(tag), tag)
    tags: dict[str, str] = {}
    for value in suggested:
        tag = one_line(value, LONGEST)
        if tag is not None:
            tags.setdefault(_key(tag), spelt.get(_key(tag), tag))
    ordered = sorted(tags, key=lambda key: key not in spelt)
    return tuple(tags[key] for key in ordered[:MOST])


def tags_in(texts: Iterable[str], used: Sequence[str]) -> list[str]:
    """The tags of `used` that a text contains word for word, the most used first."""
    padded = [f" {_key(text)} " for text in texts]
    return [tag for tag in used if _key(tag) and any(f" {_key(tag)} " in text for text in padded)]


def is_same_tag(tag: str, other: str) -> bool:
    """True for two spellings of one tag, see `choose_tags`."""
    return _key(tag) == _key(other)


def without_doubted_parties(classification: Classification, extraction: Extraction) -> Classification:
    """The classification without tags that name a party which is only suggested, or was refuted by a person.

    A name that a field of another party has stays.
    """
    believed = [value for path, value in leaves(extraction.data) if path.endswith(_NAME)]
    doubted: list[object] = [value for path, value in extraction.refuted.items() if path.endswith(_NAME)]
    for path, suggestions in extraction.suggestions.items():
        if path.endswith(_NAME):
            doubted += [suggestion.value for suggestion in suggestions]
    gone, kept = ({_key(name) for name in _names(values)} for values in (doubted, believed))
    tags = tuple(tag for tag in classification.tags if _key(tag) not in gone - kept)
    return classification.model_copy(update={"tags": tags}) if tags != classification.tags else classification


def _names(values: Iterable[object]) -> Iterator[str]:
    """Names as they are tags."""
    for value in values:
        name = one_line(value, LONGEST)
        if name is not None:
            yield name


def one_line(value: object, longest: int) -> str | None:
    """A text in one line, without what cannot be printed; None for what says nothing."""
    if not isinstance(value, str):
        return None
    plain = "".join(character if character.isprintable() else " " for character in value)
    return re.sub(r"\s+", " ", plain).strip()[:longest].rstrip() or None


def _key(tag: str) -> str:
    """Equal for tags that are the same but for case, accents, signs between words and the plural."""
    words: list[str] = []
    for word in re.sub(r"[\W_]+", " ", fold(tag)).split():
        is_plural = len(word) >= _SHORTEST_PLURAL and word.endswith("s") and not word.endswith("ss")
        singular = f"{word[:-3]}y" if word.endswith("ies") else word[:-1]
        words.append(singular if is_plural else word)
    return " ".join(words) or tag.strip()
