"""Ready evaluators: they compare the values of a document one by one, items of lists in the best pairs."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, BeforeValidator, WithJsonSchema
from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein

from docmill.errors import MisconfiguredError
from docmill.evaluation.judge import HEADLINE, JudgedValue, Tier, number_of
from docmill.runs.components.config import ComponentConfig
from docmill.runs.context import Context
from docmill.runs.evaluation.value_pairs import ValuePairs
from docmill.runs.imports import imported
from docmill.runs.roles import Score

_NUMBERS = ("decimal", "integer")


class EvaluatorConfig(ComponentConfig):
    """name: of the figure. fields: paths of those that are compared, `lines` for all in a list; else all."""

    name: str | None = None
    fields: tuple[str, ...] | None = None


class ExactEvaluator:
    """`Evaluator` by equality: the share of values with the same characters, or that are the same number.

    A value that was read where the document has none counts as wrong.
    """

    def __init__(self, config: EvaluatorConfig | None = None) -> None:
        self.config = config or EvaluatorConfig()
        self._values = ValuePairs(self.config.fields)

    def prepare(self, expected: Sequence[BaseModel]) -> None:
        """See `Evaluator`. Raises MisconfiguredError for a field that no schema has."""
        self._values.prepare(expected)

    def evaluate(
        self, expected: BaseModel, extracted: BaseModel | None, context: Context[Any]
    ) -> Sequence[Score]:
        """See `Evaluator.evaluate`."""
        del context
        cells = self._values.compare(expected, extracted)
        kinds = self._values.kinds(expected)
        shares = [
            (cell.field, float("S0" in cell.tiers or (kinds.get(cell.field) in _NUMBERS and _is_same(cell))))
            for cell in cells
        ]
        return [_mean(self.config.name or "exact", shares)]


class NumericEvaluatorConfig(EvaluatorConfig):
    """absolute, relative: by how much a number may differ, the greater of both; relative to the true one."""

    absolute: Decimal = Decimal(0)
    relative: Decimal = Decimal(0)


class NumericEvaluator:
    """`Evaluator` of numbers: the share of those that are right within a tolerance."""

    def __init__(self, config: NumericEvaluatorConfig | None = None) -> None:
        self.config = config or NumericEvaluatorConfig()
        self._values = ValuePairs(self.config.fields, kinds=_NUMBERS)

    def prepare(self, expected: Sequence[BaseModel]) -> None:
        """See `Evaluator`. Raises MisconfiguredError for a field that no schema has."""
        self._values.prepare(expected)

    def evaluate(
        self, expected: BaseModel, extracted: BaseModel | None, context: Context[Any]
    ) -> Sequence[Score]:
        """See `Evaluator.evaluate`."""
        del context
        cells = self._values.compare(expected, extracted)
        shares = [(cell.field, float(self._is_within(cell))) for cell in cells]
        return [_mean(self.config.name or "numeric", shares)]

    def _is_within(self, cell: JudgedValue) -> bool:
        true, read = number_of(cell.true or ""), number_of(cell.read or "")
        if true is None or read is None:
            return False
        return abs(read - true) <= max(self.config.absolute, self.config.relative * abs(true))


class SimilarityEvaluatorConfig(EvaluatorConfig):
    """method: of rapidfuzz. ignore_case: whether capital and small letters are the same."""

    method: Literal["levenshtein", "ratio", "token_sort", "token_set"] = "levenshtein"
    ignore_case: bool = False


_METHODS: dict[str, Callable[[str, str], float]] = {
    "levenshtein": Levenshtein.normalized_similarity,
    "ratio": lambda one, other: fuzz.ratio(one, other) / 100,
    "token_sort": lambda one, other: fuzz.token_sort_ratio(one, other) / 100,
    "token_set": lambda one, other: fuzz.token_set_ratio(one, other) / 100,
}


class SimilarityEvaluator:
    """`Evaluator` of texts: the mean of their similarities, from 0 to 1; 0 for one that is missing."""

    def __init__(self, config: SimilarityEvaluatorConfig | None = None) -> None:
        self.config = config or SimilarityEvaluatorConfig()
        self._values = ValuePairs(self.config.fields, kinds=("text",))

    def prepare(self, expected: Sequence[BaseModel]) -> None:
        """See `Evaluator`. Raises MisconfiguredError for a field that no schema has."""
        self._values.prepare(expected)

    def evaluate(
        self, expected: BaseModel, extracted: BaseModel | None, context: Context[Any]
    ) -> Sequence[Score]:
        """See `Evaluator.evaluate`."""
        del context
        cells = self._values.compare(expected, extracted)
        return [
            _mean(self.config.name or "similarity", [(cell.field, self._similarity(cell)) for cell in cells])
        ]

    def _similarity(self, cell: JudgedValue) -> float:
        if cell.true is None or cell.read is None:
            return 0.0
        true, read = cell.true, cell.read
        if self.config.ignore_case:
            true, read = true.casefold(), read.casefold()
        return _METHODS[self.config.method](true, read)


class FieldEvaluatorConfig(EvaluatorConfig):
    """tier: at which a value is right, see `docmill.evaluation.judge`. name: before the names of figures."""

    tier: Tier = HEADLINE


class FieldEvaluator:
    """`Evaluator` by fields, as `docmill eval`: `f1`, `precision`, `recall` and `documents_right`."""

    def __init__(self, config: FieldEvaluatorConfig | None = None) -> None:
        self.config = config or FieldEvaluatorConfig()
        self._values = ValuePairs(self.config.fields)

    def prepare(self, expected: Sequence[BaseModel]) -> None:
        """See `Evaluator`. Raises MisconfiguredError for a field that no schema has."""
        self._values.prepare(expected)

    def evaluate(
        self, expected: BaseModel, extracted: BaseModel | None, context: Context[Any]
    ) -> Sequence[Score]:
        """See `Evaluator.evaluate`."""
        del context
        cells = self._values.compare(expected, extracted)
        counts: dict[str, _Counts] = {}
        whole = _Counts()
        for cell in cells:
            for count in (whole, counts.setdefault(cell.field, _Counts())):
                count.add(cell, self.config.tier)
        prefix = f"{self.config.name}_" if self.config.name else ""
        is_judged = bool(expected.model_fields_set)
        right = float(all(self.config.tier in cell.tiers for cell in cells))
        return [
            *(
                _ratio(f"{prefix}{name}", whole.ratio(name), {f: c.ratio(name) for f, c in counts.items()})
                for name in ("f1", "precision", "recall")
            ),
            Score(f"{prefix}documents_right", right, weight=float(is_judged)),
        ]


def _imported(function: object) -> object:
    try:
        return imported(function) if isinstance(function, str) else function
    except MisconfiguredError as error:
        raise ValueError(error.message) from error


class FunctionEvaluatorConfig(ComponentConfig):
    """function: as `package.module:name`; it takes expected, extracted and context. name: of its figure."""

    function: Annotated[Callable[..., Any], BeforeValidator(_imported), WithJsonSchema({"type": "string"})]
    name: str = "judge"


class FunctionEvaluator:
    """`Evaluator` by a function of your own, a model that judges for instance; sync or async.

    It returns a number or a truth value, or scores. It is not called for documents that failed, which have 0.
    """

    def __init__(self, config: FunctionEvaluatorConfig | Callable[..., Any], *, name: str = "judge") -> None:
        if not isinstance(config, FunctionEvaluatorConfig):
            config = FunctionEvaluatorConfig(function=config, name=name)
        self.config = config

    async def evaluate(
        self, expected: BaseModel, extracted: BaseModel | None, context: Context[Any]
    ) -> Sequence[Score]:
        """See `Evaluator.evaluate`. Raises MisconfiguredError if the function returns anything else."""
        if extracted is None:
            return [Score(self.config.name, 0.0)]
        answer = self.config.function(expected, extracted, context)
        if inspect.isawaitable(answer):
            answer = await answer
        match answer:
            case Score():
                return [answer]
            case bool() | int() | float():
                return [Score(self.config.name, float(answer))]
            case list() | tuple() if all(isinstance(item, Score) for item in cast("list[object]", answer)):
                return cast("list[Score]", answer)
            case _:
                raise MisconfiguredError(
                    f"the function of the evaluator {self.config.name!r} returned {type(answer).__name__};"
                    " it must be a number or scores"
                )


class _Counts:
    """Numbers of values that are right, that were read and that are true."""

    def __init__(self) -> None:
        self.right = self.read = self.true = 0

    def add(self, cell: JudgedValue, tier: Tier) -> None:
        self.right += tier in cell.tiers
        self.read += cell.read is not None
        self.true += cell.true is not None

    def ratio(self, name: str) -> tuple[int, int]:
        """What is above and what is below the line of a figure."""
        if name == "precision":
            return self.right, self.read
        return (self.right, self.true) if name == "recall" else (2 * self.right, self.read + self.true)


def _is_same(cell: JudgedValue) -> bool:
    number = number_of(cell.true or "")
    return number is not None and number == number_of(cell.read or "")


def _mean(name: str, shares: Iterable[tuple[str, float]]) -> Score:
    """The mean of the shares of values; by field, too."""
    shares = list(shares)
    by_field: dict[str, list[float]] = {}
    for field, value in shares:
        by_field.setdefault(field, []).append(value)
    ratios = {field: (sum(values), len(values)) for field, values in by_field.items()}
    return _ratio(name, (sum(value for _, value in shares), len(shares)), ratios)


def _ratio(name: str, ratio: tuple[float, float], by_field: Mapping[str, tuple[float, float]]) -> Score:
    """A score of ratios, which is none where there is nothing below the line."""
    parts = {field: part for field, part in by_field.items() if part[1]}
    return Score(
        name,
        ratio[0] / ratio[1] if ratio[1] else 0.0,
        {field: above / below for field, (above, below) in parts.items()},
        float(ratio[1]),
        {field: float(below) for field, (_, below) in parts.items()},
    )
