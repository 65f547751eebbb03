"""What handlers are given: the orchestrator, who calls, which page is wanted."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Header, Path, Query, Request

from calve.engine.orchestrator import Orchestrator
from calve.engine.views.pages import PageRequest

ANONYMOUS = "anonymous"
#: The largest number that the state can hold.
LARGEST = 2**63 - 1


def within(most: int) -> Any:
    """A query param for how many entries are wanted, with its bounds; who reads the list checks them."""
    return Query(json_schema_extra={"minimum": 1, "maximum": most})


def _orchestrator(request: Request) -> Orchestrator:
    found: Orchestrator = request.app.state.orchestrator
    return found


def _caller(user: Annotated[str | None, Header(description="Who calls.", max_length=256)] = None) -> str:
    return user or ANONYMOUS


def _page(
    first: Annotated[int | None, Query(description="So many entries, from newer to older ones.")] = None,
    last: Annotated[int | None, Query(description="So many entries, from older to newer ones.")] = None,
    cursor: Annotated[str | None, Query(description="`start_cursor` or `end_cursor` of a page.")] = None,
) -> PageRequest:
    return PageRequest.parse(first, last, cursor)


Orchestrating = Annotated[Orchestrator, Depends(_orchestrator)]
Caller = Annotated[str, Depends(_caller)]
Page = Annotated[PageRequest, Depends(_page)]
#: The number of an instance, a run or an attempt in a path.
Number = Annotated[int, Path(ge=0, le=LARGEST)]
Json = dict[str, Any]
