"""Fields of a document's header: its number and references, its dates and time, and the account to pay to."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from datetime import date, timedelta
from itertools import pairwise, product

from docmill.schemas.document_types import DEFINITIONS, DocumentType
from docmill.understanding.constraints.address_features import line_features
from docmill.understanding.constraints.corrected_invoice import corrected_invoice, is_of
from docmill.understanding.fields.candidates import Candidate, Candidates
from docmill.understanding.fields.findings import Finding, Findings, best, finding_of, probabilities
from docmill.understanding.fields.meaning import FieldMeaning, built_in_meaning
from docmill.understanding.page.card_slips import card_slip_lines, is_card_slip
from docmill.understanding.page.layout import Layout, Segment, Span
from docmill.understanding.page.terms import is_discount_until, is_payable_by
from docmill.understanding.text.dates import MISREAD_TIME
from docmill.understanding.text.folding import alternatives, fold
from docmill.understanding.text.number_forms import is_dialled, is_measure, names_post_box
from docmill.understanding.vocabulary import LANGUAGES, Concept

_REFERENCES = ("order_number", "contract_number", "customer_number", "delivery_note_number")
"""Numbers of other documents and of the customer."""
_OF_PAPERS = frozenset({"number", *_REFERENCES})
_SHORT = 3
_ASIDE = 2.0
WRONG_CHECKSUM = 0.4
"""Probability of a code with a wrong checksum; the gate has a person check it."""
_LEAST_BY_LABEL = 0.5
_NEARLY = 0.75
"""Share of a number's probability above which a rival is labelled nearly as well."""
_UNLIKELY_NUMBER = 0.25
"""Probability of a number below which it is most likely none, as one in a sentence behind `your invoice`."""
_NEARLY_THE_PARTY = 0.2
"""The same of a party: of those with such a rival about half were right on papers of unknown layouts."""
_PARTIES = ("seller.name", "buyer.name", "seller.address", "buyer.address")
_LETTERS_OF_CODE = 6
"""Letters of a line that may be a code alone, which looks like a postcode and a town."""
_DATES = frozenset({Concept.DATE, Concept.PERIOD_START})
_CURRENCY_SIGNS = "$€£ "
_AMOUNTS_OF_ROW = 2
_NEAR_LABEL = 30
"""Characters between a label and the number of a house or town that belongs to it."""
_OF_BANKS = frozenset({Concept.BANK, Concept.IBAN, Concept.BIC, Concept.ACCOUNT})
_YOUR_ACCOUNTS = alternatives(fold(word) for each in LANGUAGES for word in each.parties.your_accounts)
_YOUR_ACCOUNT = re.compile(rf"(?<![^\W\d_])(?:{_YOUR_ACCOUNTS})")
_BANK_LINES = 5
"""Text heights around an account number in which a bank may be named."""
_START, _END = built_in_meaning("period_start"), built_in_meaning("period_end")
_RANGE_BONUS = 1.6
"""Score added to each end of a period that is written as one, such as `01.03. - 31.03.`."""
_LONGEST_PERIOD = timedelta(days=800)
_PERIOD_PENALTY = -1.5
"""Added to the score of an issue date that is an end of a period."""
_IN_SENTENCE, _WORDS_OF_SENTENCE = -2.0, 3
"""Added to the score of an issue date behind so many words of a sentence: `per our agreement dated 3 May`."""
_IN_COLUMN, _DAYS_OF_COLUMN, _COLUMN = -2.0, 3, 0.03
"""Added to the score of an issue date in a column with so many different days, so wide on the page."""
_LINE_GAP, _ALIGNED = 0.9, 0.012
"""Text heights between lines of a paragraph, and fractions of the page's width between their left edges."""
_DEADLINE_SCORE = 4.0
"""Least score of a due date by which a sentence asks for payment."""


def numbers(
    candidates: Candidates, document_type: DocumentType, taken: Collection[tuple[Span, ...]] = ()
) -> dict[str, Finding]:
    """Find `number` and the references. Each place is the value of the field that it fits best.

    taken: places of values of other fields.
    """
    corrected = corrected_invoice(candidates, document_type).values()
    of_invoice = {finding.value for finding in corrected}
    number = built_in_meaning("number", document_type)
    # An order's own number is no reference; neither is a delivery note's.
    meanings = [number, *(built_in_meaning(path) for path in _REFERENCES if path != number.same_as)]
    is_till_paper = DEFINITIONS[document_type].is_till_paper
    slips = _lines_of_slips(candidates.layout) if is_till_paper else frozenset[tuple[int, int]]()
    scores: list[tuple[Candidate[str], dict[str, float]]] = []
    for candidate in candidates.identifiers:
        before = candidate.segment.text[: candidate.start]
        if candidate.spans in taken or candidate.value in of_invoice or is_measure(candidate.value):
            continue
        if (candidate.segment.page_index, candidate.segment.line) in slips:
            continue
        if (
            names_post_box(candidate.segment.text)
            or is_dialled(before)
            or _is_of_address(candidate, candidates)
            or _has_amount_beside(candidate, candidates)
        ):
            continue
        clues = candidate.clues
        is_account = clues.get(Concept.ACCOUNT) and clues.get(Concept.CUSTOMER_NUMBER)
        if is_account and not _is_near_bank(candidate, candidates):  # then it is the customer's
            clues = {concept: clue for concept, clue in clues.items() if concept is not Concept.ACCOUNT}
        scores.append(
            (candidate, {meaning.path: _number_score(clues, candidate, meaning) for meaning in meanings})
        )
    findings: dict[str, Finding] = {}
    for meaning in meanings:
        path = meaning.path
        fitting = [(candidate, of[path]) for candidate, of in scores if of[path] >= max(of.values())]
        finding = best(fitting, null=meaning.null)
        if finding is not None:
            findings[path] = finding
    return findings


def _lines_of_slips(layout: Layout) -> frozenset[tuple[int, int]]:
    """Page and line of what card terminals printed below a receipt; a slip alone has no other numbers."""
    if is_card_slip(layout):
        return frozenset()
    return frozenset((sheet.page_index, line) for sheet in layout.sheets for line in card_slip_lines(sheet))


def _is_of_address(candidate: Candidate[str], candidates: Candidates) -> bool:
    """True for the number of a house or town: on a line of an address without a label of its own."""
    line = line_features(candidates, candidate.segment)
    has_label = any(
        label.start < candidate.start <= label.stop + _NEAR_LABEL
        for label in candidates.labels(candidate.segment)
    )
    return (line.is_street or line.ends_address) and not has_label and line.letter_count > _LETTERS_OF_CODE


def _has_amount_beside(candidate: Candidate[str], candidates: Candidates) -> bool:
    """True for a number in a row of sums or items: `Outstanding invoice no. 2240   $12,500`.

    An amount follows it without a label between them, or two amounts stand right of it.
    """
    segment = candidate.segment
    right = {other.index: other for other in candidates.layout.sheet(segment).right_of(segment)}
    nearest = next(iter(right), None)
    of_row = 0
    for amount in candidates.amounts:
        if amount.plain or (amount.segment.index != segment.index and amount.segment.index not in right):
            continue
        of_row += amount.segment.index in right
        is_behind = amount.segment.index == segment.index and candidate.stop <= amount.start
        is_labelled = any(label.start >= candidate.stop for label in candidates.labels(segment))
        is_beside = amount.segment.index == nearest and not amount.segment.text[: amount.start].strip(
            _CURRENCY_SIGNS
        )
        if (is_behind and not is_labelled) or is_beside:
            return True
    return of_row >= _AMOUNTS_OF_ROW


def undecided(findings: Findings) -> dict[str, Finding]:
    """Numbers, names and addresses beside which another one is nearly as likely, and unlikely numbers.

    Their probability among rivals says so; a calibrated belief hardly sees it.
    """
    limits = {
        **dict.fromkeys(_OF_PAPERS, _NEARLY),
        **dict.fromkeys(_PARTIES, _NEARLY_THE_PARTY),
    }
    return {
        path: finding
        for path, limit in limits.items()
        if (finding := findings.get(path)) is not None
        and (
            (path in _OF_PAPERS and finding.probability < _UNLIKELY_NUMBER)
            or any(rival.probability > limit * finding.probability for rival in finding.rivals)
        )
    }


def _is_near_bank(candidate: Candidate[str], candidates: Candidates) -> bool:
    sheet = candidates.layout.sheet(candidate.segment)
    near = _BANK_LINES * sheet.text_height
    return any(
        not _OF_BANKS.isdisjoint(label.meanings)
        for segment in sheet.segments
        if abs(segment.middle - candidate.segment.middle) < near
        for label in candidates.labels(segment)
        if Concept.CUSTOMER_NUMBER not in label.meanings
    )


def _number_score(clues: Mapping[Concept, float], candidate: Candidate[str], meaning: FieldMeaning) -> float:
    """The score of the labels; where they support the field, place and shape add a little."""
    by_label = meaning.score(clues)
    if by_label < _LEAST_BY_LABEL:
        return by_label
    value = candidate.value
    shape = -1.5 if len(value) < _SHORT else 0.0
    if re.fullmatch(r"(?:19|20)\d\d", value):
        shape -= 1
    if re.fullmatch(r"\d{1,2}\.\d{1,2}", value) or candidate.segment.text[: candidate.start].endswith("("):
        shape -= _ASIDE  # a version, a code
    if sum(map(str.isdecimal, value)) >= _SHORT:
        shape += 0.3
    place = 0.4 if candidate.segment.page_index == 0 else 0.0
    place += 0.4 * (1 - candidate.segment.middle)
    return by_label + shape + place


def account_codes(candidates: Candidates) -> Iterator[tuple[str, Finding]]:
    """Find the IBAN and BIC to pay to: the first on the page, since a checksum leaves little doubt."""
    ibans = [code for code in candidates.ibans if not _is_of_reader(code)]
    for path, codes in (("payment.iban", ibans), ("payment.bic", candidates.bics)):
        usable = [
            (code, 3.0 + code.clues.get(Concept.IBAN, 0) + code.clues.get(Concept.BIC, 0) - 0.01 * index)
            for index, code in enumerate(codes)
            if path == "payment.iban" or code.clues.get(Concept.BIC, 0) or code.clues.get(Concept.BANK, 0)
        ]
        finding = best(usable, null=0)
        if finding is not None:
            yield path, finding
        elif path == "payment.iban" and candidates.doubtful_ibans:
            yield path, finding_of(candidates.doubtful_ibans[0], WRONG_CHECKSUM)


def _is_of_reader(iban: Candidate[str]) -> bool:
    """True for the account of whom the paper is for: `We pay to your account DE53 ...`."""
    return _YOUR_ACCOUNT.search(fold(iban.segment.text[: iban.start])) is not None


def dates(candidates: Candidates, document_type: DocumentType) -> dict[str, Finding]:
    """Find all date fields, by path. The ends of a period are rarely other dates as well."""
    findings: dict[str, Finding] = dict(_period(candidates.dates))
    meaning = built_in_meaning("issue_date", document_type)
    scored: list[tuple[Candidate[date], float]] = []
    corrected = corrected_invoice(candidates, document_type).values()
    listed = _dates_in_columns(candidates)
    own = (candidate for candidate in candidates.dates if not is_of(candidate.spans, corrected))
    for index, candidate in enumerate(own):
        segment = candidate.segment
        by_label = meaning.score(candidate.clues)
        score = max(by_label, meaning.unlabelled + min(by_label, 0))
        score += _PERIOD_PENALTY * bool(candidate.role)
        score += _IN_SENTENCE * _is_in_sentence(candidates, candidate)
        score += _IN_COLUMN * (candidate in listed)
        score += 0.8 * (MISREAD_TIME.search(segment.text[candidate.stop :]) is not None)
        score -= 0.06 * min(index, 15) + 0.4 * segment.middle + 0.5 * min(2, segment.page_index)
        scored.append((candidate, score))
    issued = best(scored, null=meaning.null)
    if issued is not None:
        findings["issue_date"] = issued
    for field in ("due_date", "delivery_date"):
        meaning = built_in_meaning(field)
        scored = []
        for candidate in candidates.dates:
            score = meaning.score(candidate.clues)
            if field == "due_date":
                is_early = issued and isinstance(issued.value, date) and candidate.value < issued.value
                if candidate.role or is_early:
                    continue
                before, after = _sentence_around(candidates, candidate)
                if is_discount_until(before, after):
                    continue
                if is_payable_by(before, after) or _is_followed_by_due(candidates, candidate):
                    score = max(score, _DEADLINE_SCORE)
            scored.append((candidate, max(score, 0.0)))
        finding = best(scored, null=meaning.null)
        if finding is not None:
            findings[field] = finding
    return findings


def _dates_in_columns(candidates: Candidates) -> frozenset[Candidate[date]]:
    """The dates that begin lines under those of other days: of nights, visits or items."""
    columns: dict[tuple[int, int], list[Candidate[date]]] = defaultdict(list)
    for candidate in candidates.dates:
        segment = candidate.segment
        if candidate.start == 0 and not candidates.layout.sheet(segment).left_of(segment):
            columns[segment.page_index, round(segment.box.x0 / _COLUMN)].append(candidate)
    listed = (
        column for column in columns.values() if len({each.value for each in column}) >= _DAYS_OF_COLUMN
    )
    return frozenset(candidate for column in listed for candidate in column)


def _is_in_sentence(candidates: Candidates, candidate: Candidate[date]) -> bool:
    """True if a sentence tells the date of another paper: `It replaces our quote 12-A of 3 May`.

    A line that begins with a label tells its own: `Invoice no. 4471 of 3 May`.
    """
    text = candidate.segment.text[: candidate.start]
    labels = [label for label in candidates.labels(candidate.segment) if label.start < candidate.start]
    if not labels or labels[-1].quality < 1 or not _DATES.issuperset(labels[-1].meanings):
        return False
    before = text[: labels[-1].start]
    is_labelled = ":" in text or not any(map(str.isalnum, text[: labels[0].start]))
    return not is_labelled and len(before.split()) >= _WORDS_OF_SENTENCE


def _sentence_around(candidates: Candidates, candidate: Candidate[date]) -> tuple[str, str]:
    """The text before and after a date, including the lines above and below that belong to its paragraph."""
    segment = candidate.segment
    before, after = segment.text[: candidate.start], segment.text[candidate.stop :]
    sheet = candidates.layout.sheet(segment)
    for above in sheet.above(segment.box)[:1]:
        if _is_next_line(above, segment):
            before = f"{above.text} {before}"
    for below in sheet.below(segment.box)[:1]:
        if _is_next_line(segment, below):
            after = f"{after} {below.text}"
    return before, after


def _is_next_line(segment: Segment, below: Segment) -> bool:
    """True if two lines stand close and begin at one edge."""
    gap = below.box.y0 - segment.box.y1
    return gap < _LINE_GAP * segment.height and abs(below.box.x0 - segment.box.x0) < _ALIGNED


def _is_followed_by_due(candidates: Candidates, candidate: Candidate[date]) -> bool:
    """True if the word for due follows a date: `ist am 06.12.2013 fällig`."""
    segment, at = candidate.segment, candidate.stop
    text = segment.text
    labels = [label for label in candidates.labels(segment) if label.start >= at]
    if not labels or Concept.DUE_DATE not in labels[0].meanings:
        return False
    rest = text[at : labels[0].start] + text[labels[0].stop :]
    return not any(map(str.isalnum, rest)) and ":" not in rest


def _period(all_dates: list[Candidate[date]]) -> Iterator[tuple[str, Finding]]:
    """Yield the ends of the most likely period: two dates that are written as one or labelled as its ends."""
    pairs = [
        # One label counts for both ends; it stands nearest to the start.
        (start, end, 2 * max(0.0, _START.score(start.clues)) + 2 * _RANGE_BONUS)
        for start, end in pairwise(all_dates)
        if start.role == "start" and end.role == "end" and start.value <= end.value
    ]
    starts = [start for start in all_dates if start.clues.get(Concept.PERIOD_START) and not start.role]
    ends = [end for end in all_dates if end.clues.get(Concept.PERIOD_END) and not end.role]
    for start, end in product(starts, ends):
        if timedelta(0) <= end.value - start.value <= _LONGEST_PERIOD:
            distance = abs(end.segment.index - start.segment.index)
            score = _START.score(start.clues) + _END.score(end.clues)
            pairs.append((start, end, score - 0.02 * min(distance, 50)))
    # A period stands high on an early page.
    pairs = [
        (start, end, score - (0.5 * start.segment.middle + 0.8 * min(2, start.segment.page_index)))
        for start, end, score in pairs
    ]
    pairs.sort(key=lambda pair: -pair[2])
    if not pairs or pairs[0][2] <= 2 * _START.null:
        return
    start, end, score = pairs[0]
    rivals = {(pair[0].value, pair[1].value): pair[2] for pair in reversed(pairs)}
    rivals.pop((start.value, end.value))
    share = probabilities([score / 2, *(rival / 2 for rival in rivals.values())], null=_START.null)[0]
    yield "period_start", finding_of(start, share)
    yield "period_end", finding_of(end, share)
