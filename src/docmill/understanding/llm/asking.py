"""One question to a language model whose answer must be JSON of a given schema."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, cast

from pydantic_ai import BinaryContent, ModelSettings
from pydantic_ai.direct import model_request
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.tools import ToolDefinition

from docmill.errors import (
    AiContentBlockedError,
    BadModelOutputError,
    NetworkError,
    ServerError,
    TransientError,
)
from docmill.llm.answers import Price, translated, usage_of
from docmill.resilience.time_limits import Guard, Slots
from docmill.understanding.llm.meter import Meter

TOOL = "answer"
OTHERWISE = "enter the fields by hand, or choose another model"
BAD_JSON = "That was no JSON object of the schema. Answer again, with the JSON object and nothing else."
MAX_TOKENS = 8192
TRIES = 2
"""How often a model is asked that answers in another form."""
CALLS = 3
"""How often a provider is called that is busy or fails, before the document waits in the queue."""
PAUSES_S = (0.5, 2.0)
LONGEST_PAUSE_S = 10.0
"""A provider that asks for more is left to the queue."""

Answer = Mapping[str, Any]
Pause = Callable[[float], Awaitable[None]]


class Question(NamedTuple):
    """A question to a model. schema: of the JSON object it must answer with."""

    instructions: str
    content: Sequence[str | BinaryContent]
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Asker:
    """A model with the manners of asking it.

    guard: around every call, see `breaker.guarded`. sees: whether it may be shown pictures.
    output: how its answer is bound to the schema; servers of one's own mostly know `native` best. price: None
    for the usual one. limit_s: of one call.
    """

    model: Model
    guard: Guard
    slots: Slots
    output: Literal["native", "tool", "prompted"] = "native"
    sees: bool = False
    price: Price | None = None
    limit_s: float = 90
    pause: Pause = field(default=asyncio.sleep)

    @property
    def name(self) -> str:
        """As its provider calls it."""
        return self.model.model_name

    async def ask(self, question: Question, meter: Meter) -> Answer:
        """The model's answer; what it cost is counted even if it is of no use.

        Raises BadModelOutputError if it does not keep to the form when told so, and what `translated` raises.
        """
        messages: list[ModelMessage] = [_request(question)]
        for _ in range(TRIES):
            response = await self._called(messages, question)
            meter.add(usage_of(response, self.price))
            if response.finish_reason == "content_filter":
                raise AiContentBlockedError(f"the model {self.name!r} refuses the document; {OTHERWISE}")
            answer = answer_in(response)
            if answer is not None and _fits(answer, question.schema):
                return answer
            messages += [response, _again(response, question)]
        raise BadModelOutputError(f"the model {self.name!r} does not answer in the form asked for")

    async def _called(self, messages: Sequence[ModelMessage], question: Question) -> ModelResponse:
        """One answer; a provider that is busy or fails is asked again after a moment."""
        for attempt in range(CALLS - 1):
            try:
                return await self._once(messages, question)
            except TransientError as error:
                pause_s = _pause_s(error, attempt)
                if pause_s is None:
                    raise
                await self.pause(pause_s)
        return await self._once(messages, question)

    async def _once(self, messages: Sequence[ModelMessage], question: Question) -> ModelResponse:
        settings = ModelSettings(max_tokens=MAX_TOKENS, temperature=0, timeout=self.limit_s)
        async with self.slots.taken(), self.guard():
            with translated(self.name, "document", otherwise=OTHERWISE):
                return await model_request(
                    self.model,
                    messages,
                    model_settings=settings,
                    model_request_parameters=self._parameters(question),
                )

    def _parameters(self, question: Question) -> ModelRequestParameters:
        schema = dict(question.schema)
        if self.output == "tool":
            tool = ToolDefinition(
                name=TOOL, description="Give the answer.", parameters_json_schema=schema, kind="output"
            )
            return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)
        form = OutputObjectDefinition(json_schema=schema, name=TOOL, strict=self.output == "native")
        return ModelRequestParameters(output_mode=self.output, output_object=form)


def answer_in(response: ModelResponse) -> Answer | None:
    """The JSON object of an answer; None if there is none."""
    for part in response.parts:
        if isinstance(part, ToolCallPart):
            return _object(part.args if isinstance(part.args, str) else json.dumps(part.args))
    return _object(response.text or "")


def _object(text: str) -> Answer | None:
    """The object that a text is, or that stands in it between words or fences."""
    text = re.sub(r"<think>.*?</think>", "", text, flags=re.DOTALL)
    start, stop = text.find("{"), text.rfind("}")
    if start < 0 or stop < start:
        return None
    try:
        found = json.loads(text[start : stop + 1])
    except (ValueError, RecursionError):
        return None
    return cast("Answer", found) if isinstance(found, dict) else None


def _fits(answer: Answer, schema: Mapping[str, Any]) -> bool:
    """Tell whether it has any of the values asked for."""
    return not answer or any(name in schema["properties"] for name in answer)


def _request(question: Question) -> ModelRequest:
    content: list[UserContent] = list(question.content)
    return ModelRequest(parts=[UserPromptPart(content)], instructions=question.instructions)


def _again(response: ModelResponse, question: Question) -> ModelRequest:
    """Says that the form was wrong: to a tool call as its result, as the providers want it."""
    call = next((part for part in response.parts if isinstance(part, ToolCallPart)), None)
    part = (
        ToolReturnPart(
            tool_name=call.tool_name, content=BAD_JSON, tool_call_id=call.tool_call_id, outcome="retried"
        )
        if call is not None
        else UserPromptPart(BAD_JSON)
    )
    return ModelRequest(parts=[part], instructions=question.instructions)


def _pause_s(error: TransientError, attempt: int) -> float | None:
    """The seconds to wait before asking again; None if that is for the queue."""
    if not error.attempted:
        return None
    if error.retry_after_s is not None:
        return error.retry_after_s if error.retry_after_s <= LONGEST_PAUSE_S else None
    return PAUSES_S[attempt] if isinstance(error, NetworkError | ServerError) else None
