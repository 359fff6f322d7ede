"""Words of languages stand in the vocabulary's files; a pattern in code that holds one is noticed here."""

import ast
import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

ALLOWED = {
    *("eu", "https", "www"),  # of the web
    *("compliant", "conformant", "think", "document"),  # of formats and models
    *("amount", "lines", "net", "day", "first", "month"),  # of paths and groups
    *("Beleg", "AVBeleg"),  # of the processes of the German fiscal code
    *("that", "where", "which", "who", "whom", "whose"),  # in the descriptions of fields
    *("balance", "commission", "hors", "nett", "provision", "tax"),  # beside totals of users' own schemas
    "hp",  # a mobile phone's number; as a label it would be a firm's name
    *("Rev", "Ver"),
    *("Mw", "mb"),  # of `MwSt` and `GmbH`
}
"""Words that patterns may have. Capitals are codes."""
ANY_LANGUAGE = {"text/model_orders.py"}
"""Attacks come in more languages than documents are read in."""
_SYNTAX = re.compile(r"\(\?P[<=]\w+[>)]?|\\u[0-9a-f]{4}|\\.|\[[^\]]*\]|\{[^}]*\}")


def words_of_patterns(module: Path) -> Iterator[str]:
    """The words of two letters and more in the arguments of calls such as `re.compile`."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            owner = node.func.value
            if isinstance(owner, ast.Name) and owner.id == "re" and node.func.attr != "escape":
                for part in ast.walk(node.args[0]):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield from re.findall(r"[^\W\d_]{2,}", _SYNTAX.sub(" ", part.value))


def test_patterns_in_code_hold_no_words_of_languages() -> None:
    folder = Path(str(resources.files("docmill.understanding")))
    found = {
        path.relative_to(folder).as_posix(): {word for word in words_of_patterns(path) if not word.isupper()}
        for path in sorted(folder.rglob("*.py"))
    }

    new = {path: words - ALLOWED for path, words in found.items() if path not in ANY_LANGUAGE}
    assert {path: words for path, words in new.items() if words} == {}


def test_a_word_in_a_pattern_is_noticed(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(
        'import re\nX = re.compile(r"^(?P<day>\\d+)\\s(?:tage|jours)[a-z]")\n', encoding="utf-8"
    )

    assert list(words_of_patterns(module)) == ["tage", "jours"]
