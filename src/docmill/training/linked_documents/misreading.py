"""Errors of recognition and of typing in a single value."""

import random
from collections.abc import Callable, Mapping

CONFUSIONS: Mapping[str, tuple[str, ...]] = {
    "0": ("O", "o"),
    "O": ("0",),
    "1": ("l", "I", "7"),
    "l": ("1", "I"),
    "I": ("1", "l"),
    "5": ("S",),
    "S": ("5",),
    "8": ("B", "3"),
    "B": ("8",),
    "m": ("rn",),
    "rn": ("m",),
    "2": ("Z",),
    "Z": ("2",),
    "6": ("G", "b"),
    "G": ("6",),
    "ü": ("u", "ii"),
    "ä": ("a",),
    "ö": ("o",),
    "ß": ("B",),
    "e": ("c",),
    "-": ("", "_"),
    "/": ("1", "l"),
    ".": (",", ""),
}
"""What recognition takes characters for."""
OTHER_CONFUSIONS: Mapping[str, tuple[str, ...]] = {
    "3": ("8",),
    "4": ("A",),
    "7": ("T", "1"),
    "9": ("g", "4"),
    "D": ("0",),
    "E": ("F",),
    "é": ("e", "6"),
    "è": ("e",),
    "å": ("a", "ä"),
    "ø": ("o", "0"),
    "cl": ("d",),
    "d": ("cl",),
    "vv": ("w",),
    "w": ("vv",),
    "i": ("j",),
    "U": ("V",),
    "T": ("7",),
    "A": ("4",),
    "-": ("~", " "),
    "_": (" ",),
}
"""Those of the set for measuring only."""


def misread(
    text: str, random_: random.Random, *, rate: float, confusions: Mapping[str, tuple[str, ...]] = CONFUSIONS
) -> str:
    """The text as recognised. rate: the share of the characters that are read wrongly."""
    read: list[str] = []
    index = 0
    while index < len(text):
        pair, character = text[index : index + 2], text[index]
        if random_.random() >= rate:
            read.append(character)
        elif pair in confusions:
            read.append(random_.choice(confusions[pair]))
            index += 1
        else:
            draw = random_.random()
            read.append(
                ""
                if draw < 0.1
                else character * 2
                if draw < 0.2
                else _confused(character, random_, confusions)
            )
        index += 1
    return "".join(read)


def _confused(character: str, random_: random.Random, confusions: Mapping[str, tuple[str, ...]]) -> str:
    return random_.choice(confusions.get(character, (character,)))


def misread_once(
    text: str, random_: random.Random, confusions: Mapping[str, tuple[str, ...]] = CONFUSIONS
) -> str:
    """The text with one character that recognition confuses read wrongly; another error where it has none."""
    places = [index for index, character in enumerate(text) if character in confusions]
    if not places:
        return mistype(text, random_)
    place = random_.choice(places)
    return text[:place] + random_.choice(confusions[text[place]]) + text[place + 1 :]


def mistype(text: str, random_: random.Random) -> str:
    """Another digit, or a neighbouring letter, for one character."""
    return _changed_once(text, random_, lambda characters, place: _replace(characters, place, random_))


def transpose(text: str, random_: random.Random) -> str:
    """Two neighbouring characters that differ, in the other order."""
    return _changed_once(text, random_, _swap)


def _changed_once(text: str, random_: random.Random, change: Callable[[list[str], int], None]) -> str:
    places = [index for index, character in enumerate(text) if character.isalnum()]
    for place in random_.sample(places[-6:], min(6, len(places))):
        characters = list(text)
        change(characters, place)
        if "".join(characters) != text:
            return "".join(characters)
    return text


def _replace(characters: list[str], place: int, random_: random.Random) -> None:
    character = characters[place]
    if character.isdigit():
        characters[place] = str((int(character) + random_.randint(1, 9)) % 10)
    else:
        characters[place] = chr(ord(character) + 1) if character.lower() != "z" else chr(ord(character) - 1)


def _swap(characters: list[str], place: int) -> None:
    if place and characters[place - 1].isalnum():
        characters[place - 1], characters[place] = characters[place], characters[place - 1]
