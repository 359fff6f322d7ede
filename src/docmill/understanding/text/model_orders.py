"""Orders to a language model in a text, in several languages: what prompt injection looks like."""

import re
import unicodedata

from docmill.understanding.text.folding import fold

_IGNORE = r"\b(?:ignore|disregard|forget|override|bypass|do not (?:follow|obey|heed))\W+(?:\w+\W+){0,4}"
_EARLIER = r"(?:your|these|those|all|any|previous|prior|earlier|above)"
_MACHINE = r"(?:ai|ki|ia|llms?|gpt|chat ?gpt|chatbots?|(?:ai|language) models?|(?:ai|ki)\W?assistan\w+)"
_SAY = (
    r"(?:answer|output|return|report|extract|respond|reply|use|set|put|write|antworte\w*|gib|melde\w*"
    r"|indique\w*)"
)
_ORDERS = re.compile(
    # To any reader of the text. "If you have paid, ignore the above" is for people.
    rf"{_IGNORE}(?:above|foregoing)\b(?!.{{0,60}}\bpaid\b)"
    rf"|{_IGNORE}(?:(?:instructions?|prompts?|directions)\b|{_EARLIER}\W+(?:\w+\W+){{0,2}}rules\b)"
    r"|\b(?:ignore|disregard|forget) (?:everything|anything|all (?:that )?you)\b"
    r"|\b(?:ignorier\w*|vergiss|missacht\w*)\W+(?:\w+\W+){0,4}"
    r"(?:anweisung|(?:obige|vorstehende)\w*(?!\W+(?:mahnung|rechnung|zahlung|erinnerung|schreiben)))"
    r"|\b(?:ignore[zr]|oublie[zr]?)\W+(?:\w+\W+){0,4}(?:instructions?|consignes?|ci-dessus)"
    r"|\b(?:ignora|olvida|dimentica)\w*\W+(?:\w+\W+){0,4}(?:instrucciones|istruzioni)"
    r"|\b(?:negeer|vergeet)\W+(?:\w+\W+){0,4}(?:instructies|bovenstaande)"
    r"|\b(?:игнорируи\w*|забудь\w*)\W+(?:\w+\W+){0,4}(?:инструкц|указан|выше)"
    r"|(?:忽略|无视|無視|忘记)\W{0,2}\w{0,4}(?:以上|上述|之前|前面|指令|指示)"
    # To a machine only.
    r"|\b(?:you are|act as|as) an? (?:\w+ ){0,3}(?:ai|language model|assistant|llm|chatbot)\b"
    r"|\b(?:system|developer) (?:prompt\b|(?:message|instructions?)\s*:)"
    rf"|\b{_MACHINE}\W+(?:\w+\W+){{0,3}}(?:must|should|shall|soll\w*|muss\w*|doit|doivent|debe\w*)\b"
    rf"|\b{_MACHINE}\s?[:,]\s?(?:please |bitte )?(?:\w+ )?{_SAY}\b"
    rf"|\b(?:note|hinweis|nachricht|message|instructions?) (?:to|for|an|fur|aux?|para) (?:\w+ )?{_MACHINE}\b"
    rf"|\b{_SAY}\W+(?:\w+\W+){{0,3}}[a-z]+_[a-z_]+\b"
    r"|\b(?:answer|respond|reply|output) (?:only )?(?:with|in) (?:the )?(?:following )?json\b"
    r"|<\|?(?:im_start|im_end|system|endoftext)\|?>"
)
_SPACED_OUT = re.compile(r"\b(?:[^\W\d] ){4,}[^\W\d]\b")
_LOOK_ALIKE = str.maketrans("авеіјкмнорсѕтух", "abeijkmhopcstyx")
"""Cyrillic letters that look like others."""


def holds_orders(text: str) -> bool:
    """Return whether a text holds orders to a language model.

    They are found also in spaced-out letters, look-alike letters of other alphabets and between invisible
    characters.
    """
    visible = "".join(char for char in text if char.isascii() or unicodedata.category(char) != "Cf")
    folded = re.sub(r"\s+", " ", fold(visible))
    joined = _SPACED_OUT.sub(lambda run: run[0].replace(" ", ""), folded.translate(_LOOK_ALIKE))
    return bool(_ORDERS.search(folded) or (joined != folded and _ORDERS.search(joined)))
