"""Words on a page that are meant for a machine: whoever writes them wants wrong values believed."""

import re

from docmill.model import Document, Failure
from docmill.understanding.folding import fold

CHECK = "injection"
FAILURE = Failure(
    check=CHECK, message="The page holds orders to a machine that reads it; please look at every value."
)
_ABOVE = r"(?:above|previous|prior|earlier|preceding|foregoing|system|other)"
_ORDERS = re.compile(
    rf"\b(?:ignore|disregard|forget|override|bypass)\W+(?:\w+\W+){{0,4}}{_ABOVE}\b"
    r"|\b(?:ignore|disregard|forget|override)\W+(?:\w+\W+){0,4}(?:instructions?|prompts?|rules|directions)\b"
    r"|\b(?:ignorier\w*|vergiss|missacht\w*)\W+(?:\w+\W+){0,4}(?:anweisung|obige|vorherige|vorstehende)"
    r"|\b(?:ignore[zr]|oublie[zr]?)\W+(?:\w+\W+){0,4}(?:instructions?|consignes?|precedent|ci-dessus)"
    r"|\b(?:ignora|olvida|dimentica)\w*\W+(?:\w+\W+){0,4}(?:instrucciones|istruzioni|anterior|precedent)"
    r"|\b(?:negeer|vergeet)\W+(?:\w+\W+){0,4}(?:instructies|bovenstaande|vorige)"
    r"|\b(?:you are|act as|as) an? (?:\w+ ){0,3}(?:ai|language model|assistant|llm|chatbot)\b"
    r"|\b(?:system|developer) (?:prompt|message|instructions?)\b"
    r"|\b(?:ai|language) models?\b.{0,40}\b(?:must|should|shall|answer|output|return|report|extract)\b"
    r"|\b(?:answer|respond|reply|output) (?:only )?(?:with|in) (?:the )?(?:following )?json\b"
    r"|<\|?(?:im_start|im_end|system|endoftext)\|?>"
)


def orders(document: Document) -> tuple[Failure, ...]:
    """A failure if any page holds such words."""
    for page in document.pages:
        if _ORDERS.search(re.sub(r"\s+", " ", fold(page.text))):
            return (FAILURE,)
    return ()
