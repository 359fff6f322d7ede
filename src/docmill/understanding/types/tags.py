"""Tags: a few words by which a document is found again, spelt as they are in use."""

import re
from collections.abc import Iterable, Sequence

from docmill.understanding.text.folding import fold

MOST = 5
LONGEST = 40
_SHORTEST_PLURAL = 4


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
