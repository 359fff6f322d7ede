"""Comparison of what was read on the pages with what their codes say.

A value that is printed and coded is believed, one that a code contradicts fails the check `code`, and one
that only a code has is believed, since its checksum holds and the code is made for it. Names in codes are cut
or spelt otherwise, so that they agree or are suggested; only that of another party contradicts.
"""

import logging
import lzma
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple

from pydantic_core import to_jsonable_python

from docmill.model.document import Code, Document, letters_and_digits
from docmill.model.paths import leaves
from docmill.model.result import Evidence, Extraction, Failure, Schema, Suggestion
from docmill.schemas.field_names import field_name
from docmill.schemas.filling import ValueWithEvidence, replace_values
from docmill.schemas.outline import outline
from docmill.schemas.registry import is_built_in
from docmill.understanding.coded_values import fiscal, gs1, payments
from docmill.understanding.coded_values.contents import PAYABLE, CodeContent, CodedValue
from docmill.understanding.constraints.same_party import is_same_party
from docmill.understanding.text.codes import is_iban
from docmill.understanding.withholding import is_below_floor

CHECK = "code"
AGREED = 0.99
"""Least belief in a value that is printed and coded: both would have to be read wrongly in the same way."""
ONLY_CODED = 0.99
"""Belief in a value that only a code has, whose checksum holds."""
SUGGESTED = 0.5
_PAYEE = "seller.name"
_IBAN = "payment.iban"
_NUMBERS = frozenset({"number", "order_number", "delivery_note_number", "customer_number", "contract_number"})
_LINEAR = {"]C": "Code 128", "]A": "Code 39"}
_SHORTEST_PLAIN = 6
"""Characters of a number that is compared with a linear code."""
_SHORTEST_NUMBER = 4
"""Characters of a number of a paper that is looked for in a reference."""
PARSERS = (*payments.PARSERS, *fiscal.PARSERS)

log = logging.getLogger(__name__)


class ReadCode(NamedTuple):
    """A code of a known standard, with its page and place."""

    content: CodeContent
    page_number: int
    code: Code


def parse_code(code: Code) -> CodeContent | None:
    """Parse the content of a code; None for an unknown standard, and for one that the content breaks."""
    for parser in (gs1.parse_gs1,) if code.is_gs1 else PARSERS:
        try:
            content = parser(code.text)
        except (
            ValueError,
            LookupError,
            TypeError,
            AttributeError,
            ArithmeticError,
            lzma.LZMAError,
            EOFError,
        ):
            return None
        if content is not None:
            return content
    return None


def read_contents(document: Document) -> tuple[list[ReadCode], list[ReadCode]]:
    """The codes of known standards on the pages, and the linear ones that say a number and not of what."""
    known: list[ReadCode] = []
    plain: list[ReadCode] = []
    for page in document.pages:
        for code in page.codes:
            content, linear = parse_code(code), _LINEAR.get(code.symbology[:2])
            if content is not None:
                known.append(ReadCode(content, page.number, code))
            elif linear is not None and not code.is_gs1:
                number = CodeContent(linear, {}, references=(code.text,))
                plain.append(ReadCode(number, page.number, code))
    return known, plain


def compare_codes(document: Document, extraction: Extraction, schema: Schema) -> Extraction:
    """The extraction after it was compared with the codes on the pages. Built-in types only."""
    if not is_built_in(schema) or not any(page.codes for page in document.pages):
        return extraction
    codes, numbers = read_contents(document)
    paths = {item.path for item in outline(schema) if not item.is_listed}
    comparison = _Comparison(document, extraction, schema, dict(leaves(extraction.data)))
    for path, value, code in _distinct_values(codes):
        if path == PAYABLE:
            comparison.compare_payable(value, code, paths)
        elif path == _IBAN and path in paths:
            comparison.compare_account(str(value), code)
        elif path in paths:
            comparison.compare(path, value, code)
    for code in codes:
        comparison.compare_texts(code, paths)
    for code in numbers:
        comparison.compare_number(code, paths)
    return comparison.result()


def _distinct_values(codes: list[ReadCode]) -> Iterator[tuple[str, CodedValue, ReadCode]]:
    """The values on which all codes agree: a sheet with two receipts has two codes, and says nothing."""
    by_path: dict[str, list[tuple[CodedValue, ReadCode]]] = {}
    for code in codes:
        for path, value in code.content.values.items():
            by_path.setdefault(path, []).append((value, code))
    for path, values in by_path.items():
        if len({value for value, _ in values}) == 1:
            yield path, *values[0]


@dataclass(slots=True)
class _Comparison:
    """The changes that the codes of a document bring."""

    document: Document
    read: Extraction
    schema: Schema
    values: Mapping[str, object]
    replaced: dict[str, ValueWithEvidence | None] = field(default_factory=dict[str, ValueWithEvidence | None])
    evidence: dict[str, Evidence] = field(default_factory=dict[str, Evidence])
    suggestions: dict[str, tuple[Suggestion, ...]] = field(default_factory=dict[str, tuple[Suggestion, ...]])
    failures: list[Failure] = field(default_factory=list[Failure])

    def compare(self, path: str, value: CodedValue, code: ReadCode) -> None:
        """Compare an exact value."""
        printed = self.values.get(path)
        if printed is None:
            self._take(path, value, code)
        elif _is_same(printed, value):
            self._agree(path, code)
        elif is_below_floor(self.schema, path, self.read.evidence[path]):
            self._suggest(path, printed, self.read.evidence[path])
            self._take(path, value, code)
        else:
            self._contradict(path, value, code)

    def compare_account(self, iban: str, code: ReadCode) -> None:
        """Compare the account: of several that are printed, the one of the code is to be paid to."""
        printed = self.values.get(_IBAN)
        places = self.document.find(iban)
        if places and printed is not None and not _is_same(printed, iban):
            place = places[0]
            proof = Evidence(
                page=place.page_number,
                box=place.box,
                text=place.text,
                match="normalised",
                confidence=AGREED,
                reason=_reason(code),
            )
            self.replaced[_IBAN] = ValueWithEvidence(iban, proof)
        elif printed is None or _is_same(printed, iban) or not is_iban(str(printed)):
            self.compare(_IBAN, iban, code)
        else:  # another account than the one that is printed is what a fraud looks like, too
            self._contradict(_IBAN, iban, code)

    def compare_payable(self, value: CodedValue, code: ReadCode, paths: set[str]) -> None:
        """Compare the amount to be paid with the amount due and the total: it is one of them."""
        amounts = {path: self.values[path] for path in ("amount_due", "gross_total") if path in self.values}
        same = [path for path, printed in amounts.items() if _is_same(printed, value)]
        for path in same:
            self._agree(path, code)
        if same or not paths & {"amount_due", "gross_total"}:
            return
        sure = [path for path in amounts if not is_below_floor(self.schema, path, self.read.evidence[path])]
        sure.sort(key=lambda path: self.read.evidence[path].match == "computed")
        if sure:
            self._contradict(sure[0], value, code)
        elif "amount_due" in paths:
            self.compare("amount_due", value, code)

    def compare_texts(self, code: ReadCode, paths: set[str]) -> None:
        """Compare names, and the number of the paper with references, which may not have it."""
        for path, name in code.content.names.items():
            printed = self.values.get(path)
            if path not in paths:
                continue
            proof = _evidence(name, code, SUGGESTED)
            if printed is None:
                self._suggest(path, name, proof)
            elif _is_same(printed, name):  # another spelling may be a misread one
                self._agree(path, code)
            elif is_below_floor(self.schema, path, self.read.evidence[path]) and is_below_floor(
                self.schema, path, proof
            ):
                self._suggest(path, printed, self.read.evidence[path])
                self.replaced[path] = ValueWithEvidence(name, proof)
            elif path == _PAYEE and name.isascii() and not is_same_party(str(printed), name):
                self._contradict(path, name, code)
        number = letters_and_digits(str(self.values.get("number") or ""))
        if len(number) >= _SHORTEST_NUMBER and any(
            number in letters_and_digits(reference) for reference in code.content.references
        ):
            self._agree("number", code)

    def compare_number(self, code: ReadCode, paths: set[str]) -> None:
        """Doubt a number that differs from a linear code in one character, if that is printed nowhere else.

        A number that is equal is not believed more: the code does not say of what it is the number.
        """
        coded = letters_and_digits(code.code.text)
        for path in paths & _NUMBERS & self.values.keys():
            printed = letters_and_digits(str(self.values[path]))
            if (
                len(coded) >= _SHORTEST_PLAIN
                and len(printed) == len(coded)
                and sum(one != other for one, other in zip(printed, coded, strict=True)) == 1
                and not self.document.find(coded)
            ):
                self._contradict(path, code.code.text, code)

    def result(self) -> Extraction:
        """The extraction with all changes."""
        changed = replace_values(self.read, self.schema, self.replaced)
        return changed.model_copy(
            update={
                "evidence": changed.evidence | self.evidence,
                "suggestions": {**changed.suggestions, **self.suggestions},
                "failures": (*changed.failures, *self.failures),
            }
        )

    def _agree(self, path: str, code: ReadCode) -> None:
        proof = self.read.evidence.get(path)
        if proof is not None and path not in self.replaced and proof.match != "embedded":
            confidence = max(proof.confidence, AGREED)
            self.evidence[path] = proof.model_copy(
                update={"confidence": confidence, "reason": proof.reason or _reason(code)}
            )

    def _take(self, path: str, value: CodedValue, code: ReadCode) -> None:
        self.replaced[path] = ValueWithEvidence(value, _evidence(str(value), code, ONLY_CODED))

    def _suggest(self, path: str, value: object, proof: Evidence) -> None:
        suggestion = Suggestion(value=to_jsonable_python(value), evidence=proof)
        self.suggestions[path] = (suggestion, *self.read.suggestions.get(path, ()))

    def _contradict(self, path: str, value: CodedValue, code: ReadCode) -> None:
        message = (
            f"{field_name(path)} {self.values[path]} is printed, but the code on page {code.page_number} "
            f"({code.content.standard}) says {value}; please compare both."
        )
        self.failures.append(Failure(check=CHECK, message=message, fields=(path,)))


def _is_same(printed: object, coded: CodedValue) -> bool:
    if isinstance(coded, Decimal):
        return isinstance(printed, Decimal) and printed == coded
    if isinstance(coded, str):
        return letters_and_digits(str(printed)) == letters_and_digits(coded)
    return printed == coded


def _reason(code: ReadCode) -> str:
    return f"the code on page {code.page_number} ({code.content.standard}) says the same"


def _evidence(text: str, code: ReadCode, confidence: float) -> Evidence:
    return Evidence(
        page=code.page_number,
        box=code.code.box,
        text=text,
        match="coded",
        confidence=confidence,
        reason=f"from the code on page {code.page_number} ({code.content.standard})",
    )
