"""A client of a language model, whose answer must be JSON of a given schema."""

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
from docmill.llm import Price, translated, usage_of
from docmill.resilience.spending import Meter
from docmill.resilience.time_limits import Guard, Slots

TOOL = "answer"
REMEDY = "enter the fields by hand, or choose another model"
REPROMPT = "That was no JSON object of the schema. Answer again, with the JSON object and nothing else."
MAX_TOKENS = 8192
MAX_ATTEMPTS = 2
"""A model is asked this many times before an answer of the wrong form is an error."""
PAUSES_S = (0.5, 2.0)
"""Pauses before repeated calls of a provider that is busy or fails. Then the document is tried again."""
LONGEST_PAUSE_S = 10.0
"""If the provider asks for a longer pause, the document is tried again later."""

Answer = Mapping[str, Any]
Pause = Callable[[float], Awaitable[None]]


class Prompt(NamedTuple):
    """A prompt for a model. schema: JSON Schema of the answer."""

    instructions: str
    content: Sequence[str | BinaryContent]
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ModelClient:
    """A model, and the limits for calling it.

    guard: circuit breaker around every call, see `docmill.resilience.breaker.guarded`. slots: limit
    concurrent calls. output: the way in which the model is made to follow the schema; `native` suits most
    self-hosted servers. sees: whether pictures may be sent to it. price: None for the provider's list price.
    limit_s: time limit of one call. pauses_s: before repeated calls of a provider that is busy or fails; then
    its error is raised. remedy: advice for a person if the model refuses. pause: sleeps, in seconds.
    """

    model: Model
    guard: Guard
    slots: Slots
    output: Literal["native", "tool", "prompted"] = "native"
    sees: bool = False
    price: Price | None = None
    limit_s: float = 90
    pauses_s: Sequence[float] = PAUSES_S
    remedy: str = REMEDY
    pause: Pause = field(default=asyncio.sleep)

    @property
    def name(self) -> str:
        """The provider's name of the model."""
        return self.model.model_name

    async def ask(self, prompt: Prompt, meter: Meter) -> Answer:
        """Ask the model, and count the cost of each answer.

        An answer of the wrong form is sent back to the model. Raises BadModelOutputError if its last answer
        has the wrong form, and what `translated` raises.
        """
        parts: list[UserPromptPart | ToolReturnPart] = [UserPromptPart(list(prompt.content))]
        messages: list[ModelMessage] = []
        for _ in range(MAX_ATTEMPTS):
            messages.append(ModelRequest(parts=parts, instructions=prompt.instructions))
            response = await self._call(messages, prompt.schema)
            meter.add(usage_of(response, self.price))
            if response.finish_reason == "content_filter":
                raise AiContentBlockedError(f"the model {self.name!r} refuses the document; {self.remedy}")
            call = next((part for part in response.parts if isinstance(part, ToolCallPart)), None)
            answer = _parse_answer(response, call)
            if answer is not None and (
                not answer or not answer.keys().isdisjoint(prompt.schema["properties"])
            ):
                return answer
            messages.append(response)
            # Providers want the reply to a tool call as its result.
            parts = [UserPromptPart(REPROMPT)]
            if call is not None:
                result = ToolReturnPart(
                    tool_name=call.tool_name,
                    content=REPROMPT,
                    tool_call_id=call.tool_call_id,
                    outcome="retried",
                )
                parts = [result]
        raise BadModelOutputError(f"the model {self.name!r} does not answer in the form asked for")

    async def _call(self, messages: Sequence[ModelMessage], schema: Mapping[str, Any]) -> ModelResponse:
        """Call the model; a provider that is busy or fails is called again after a pause."""
        settings = ModelSettings(max_tokens=MAX_TOKENS, temperature=0, timeout=self.limit_s)
        if self.output == "tool":
            tool = ToolDefinition(
                name=TOOL, description="Give the answer.", parameters_json_schema=dict(schema), kind="output"
            )
            parameters = ModelRequestParameters(
                output_mode="tool", output_tools=[tool], allow_text_output=False
            )
        else:
            form = OutputObjectDefinition(json_schema=dict(schema), name=TOOL, strict=self.output == "native")
            parameters = ModelRequestParameters(output_mode=self.output, output_object=form)
        pauses_s = iter(self.pauses_s)
        while True:
            try:
                async with self.slots.taken(), self.guard():
                    with translated(self.name, "document", remedy=self.remedy):
                        return await model_request(
                            self.model, messages, model_settings=settings, model_request_parameters=parameters
                        )
            except TransientError as error:
                pause_s = _pause_before_retry(error, next(pauses_s, None))
                if pause_s is None:
                    raise
                await self.pause(pause_s)


def _pause_before_retry(error: TransientError, usual_s: float | None) -> float | None:
    """The pause in seconds before the call is repeated; None if it is not repeated now.

    usual_s: the next of `pauses_s`, None if all were used.
    """
    if usual_s is None or not error.attempted:
        return None
    if error.retry_after_s is not None:
        return error.retry_after_s if error.retry_after_s <= LONGEST_PAUSE_S else None
    return usual_s if isinstance(error, NetworkError | ServerError) else None


def _parse_answer(response: ModelResponse, call: ToolCallPart | None) -> Answer | None:
    """Parse the JSON object of an answer, with or without text around it; None if there is none.

    call: the tool call of the answer, if it made one.
    """
    text = response.text or ""
    if call is not None:
        text = call.args if isinstance(call.args, str) else json.dumps(call.args)
    text = re.sub(r"<think>.*?</think>", "", text, flags=re.DOTALL)
    start, stop = text.find("{"), text.rfind("}")
    if start < 0 or stop < start:
        return None
    try:
        content = json.loads(text[start : stop + 1])
    except (ValueError, RecursionError):
        return None
    return cast("Answer", content) if isinstance(content, dict) else None
