"""Every tool by name, and the call of one: arguments checked, time limited, errors in words."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from pydantic import BaseModel
from pydantic import ValidationError as InvalidArgumentsError
from starlette.exceptions import HTTPException

from docmill.errors import DocmillError
from docmill.service.people.permissions import Permission, may
from docmill.text_input import check_texts
from docmill.web.mcp import tool_answers
from docmill.web.mcp.document_content import (
    DocumentArguments,
    PageTextArguments,
    get_document,
    get_page_text,
)
from docmill.web.mcp.document_filing import (
    ContentArguments,
    PathArguments,
    file_document,
    file_document_from_path,
)
from docmill.web.mcp.document_search import SearchArguments, search_documents
from docmill.web.mcp.linked_documents import LinksArguments, get_linked_documents
from docmill.web.mcp.tool_context import ToolContext
from docmill.web.mcp.type_listing import (
    TypeArguments,
    TypesArguments,
    get_document_type,
    list_document_types,
)

log = logging.getLogger(__name__)

TIME_LIMIT_S = 30.0
_MOST_FAULTS = 10

Arguments = TypeVar("Arguments", bound=BaseModel)


class ToolFailedError(Exception):
    """A call that did not work; the message is for whoever called."""


@dataclass(frozen=True)
class Tool(Generic[Arguments]):
    """A tool. run: takes arguments of the model `arguments`, gives an answer of the model `answer`.

    needs: the permission that the caller must have. by_path: only for callers who may file from folders.
    """

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    answer: type[BaseModel]
    run: Callable[[ToolContext, Arguments], Awaitable[BaseModel]]
    needs: Permission = "read"
    by_path: bool = False

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """The arguments as JSON Schema."""
        return self.arguments.model_json_schema()

    @cached_property
    def output_schema(self) -> dict[str, Any]:
        """The answer as JSON Schema."""
        return self.answer.model_json_schema(mode="serialization")

    def is_for(self, context: ToolContext) -> bool:
        """Return whether the caller may use it."""
        return may(context.vault.access, self.needs) and (not self.by_path or bool(context.folders))

    async def call(self, context: ToolContext, arguments: Mapping[str, Any]) -> BaseModel:
        """Check the arguments and run the tool. Raises ToolFailedError."""
        try:
            check_texts(arguments)
            checked = self.arguments.model_validate(arguments)
            async with asyncio.timeout(TIME_LIMIT_S):
                return await self.run(context, checked)
        except InvalidArgumentsError as error:
            raise ToolFailedError(_faults_in_words(error)) from error
        except DocmillError as error:
            raise ToolFailedError(error.message) from error
        except HTTPException as error:
            raise ToolFailedError(error.detail) from error
        except TimeoutError as error:
            raise ToolFailedError(
                f"This took longer than {TIME_LIMIT_S:.0f} seconds. Ask for less."
            ) from error
        except Exception as error:  # the SDK would send its message, which may quote a document
            log.exception("a tool failed", extra={"tool": self.name})
            raise ToolFailedError("A fault in docmill itself; its log has the details.") from error


def _faults_in_words(error: InvalidArgumentsError) -> str:
    """The faults by argument, without the values: they may be whole files."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    # Behind the name of the argument, the place names the alternatives of its type, too.
    named = dict.fromkeys(
        f"{fault['loc'][0]}: {_REASONS.get(fault['type']) or fault['msg'].removeprefix('Value error, ')}"
        for fault in faults[:_MOST_FAULTS]
    )
    return "These arguments do not fit. " + "; ".join(named)


_REASONS = {"extra_forbidden": "there is no such argument", "missing": "this is needed"}
"""Our words for errors of validation, by their type."""


TOOLS: Mapping[str, Tool[Any]] = {
    tool.name: tool
    for tool in (
        Tool(
            "search_documents",
            "Search documents",
            "Find documents by words, meaning, type, state, tags, counterparty, dates and amounts. Without"
            " `q`, lists those that fit the filters, the newest first.",
            SearchArguments,
            tool_answers.SearchAnswer,
            search_documents,
        ),
        Tool(
            "get_document",
            "Show a document",
            "Get a document: its type and state, the checks that failed, and each value with the page and box"
            " where it was read and how sure docmill is of it.",
            DocumentArguments,
            tool_answers.DocumentAnswer,
            get_document,
        ),
        Tool(
            "get_page_text",
            "Read a page",
            "Get the text of a page of a document as it was read, in pieces.",
            PageTextArguments,
            tool_answers.PageTextAnswer,
            get_page_text,
        ),
        Tool(
            "get_linked_documents",
            "Show what belongs together",
            "List what belongs to a document: linked orders, deliveries, invoices and payments with what"
            " differs between them, its parts, the documents that hold it, and those that seem to be the"
            " same.",
            LinksArguments,
            tool_answers.LinksAnswer,
            get_linked_documents,
        ),
        Tool(
            "list_document_types",
            "List types",
            "List the types that a document can have.",
            TypesArguments,
            tool_answers.TypesAnswer,
            list_document_types,
        ),
        Tool(
            "get_document_type",
            "Show the fields of a type",
            "Get a type of documents with the path, kind and description of each of its fields.",
            TypeArguments,
            tool_answers.TypeAnswer,
            get_document_type,
        ),
        Tool(
            "file_document",
            "File a document",
            "Put a file of up to 10 MB into the vault, which reads it then. Content that is there already"
            " changes nothing.",
            ContentArguments,
            tool_answers.FilingAnswer,
            file_document,
            needs="write",
        ),
        Tool(
            "file_document_from_path",
            "File a document of this machine",
            "Put a file of this machine into the vault, which reads it then. Content that is there already"
            " changes nothing.",
            PathArguments,
            tool_answers.FilingAnswer,
            file_document_from_path,
            needs="write",
            by_path=True,
        ),
    )
}
"""In the order in which they are listed."""
