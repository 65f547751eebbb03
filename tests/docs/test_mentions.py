"""Commands and paths that pages name in their sentences and tables are those that there are."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from tools.reference.rest import describe_api

from calve.server.app import PREFIX
from support.docs.blocks import ROOT, page_name, pages
from support.docs.checks import check_mention
from support.docs.prose import code_spans, prose

_METHODS = ("GET", "POST", "PUT", "DELETE")
_PATH = re.compile(rf"(?P<methods>(?:{'|'.join(_METHODS)})(?:\|[A-Z]+)*) (?P<path>[/…]\S*)")
_OPTIONAL = re.compile(r"\[([^\]]*)\]")
_PARAM = re.compile(r"\{[^}]*\}")


@pytest.fixture(scope="module")
def api() -> dict[str, Any]:
    return describe_api()


def mentions(page: Path) -> list[list[str]]:
    """The commands that a page names, as words."""
    spans = [span for span in code_spans(prose(page)) if re.match(r"calve [a-z]", span)]
    return [shlex.split(span.replace("…", "")) for span in spans]


@pytest.mark.parametrize("page", [page for page in pages() if mentions(page)], ids=page_name)
def test_a_command_in_a_sentence_is_one_that_there_is(page: Path) -> None:
    for words in mentions(page):
        check_mention(words[1:], page_name(page))


def test_a_command_that_is_not_there_is_found() -> None:
    check_mention(["stop|kill", "WORKFLOW", "[INSTANCE]"], "here")
    check_mention(["backfill", "plan|run", "--wait"], "here")
    for words in (["halt"], ["backfill", "plan|undo"], ["stop|kill", "--softly"]):
        with pytest.raises(AssertionError, match="here"):
            check_mention(words, "here")


def named_paths(page: Path) -> list[tuple[str, str]]:
    """Method and path of each path that a page names; `…` stands for any beginning.

    In a line, what follows a path may be a further one: `GET /a/b` · `/c`.
    """
    found = []
    for line in prose(page).splitlines():
        methods = ""
        for span in code_spans(line):
            named = _PATH.fullmatch(span)
            further = f"…{span}" if methods and span.startswith("/") else ""
            methods = methods if named is None else named["methods"]
            path = further if named is None else named["path"].removeprefix(PREFIX)
            whole = spelled_out(path.partition("?")[0]) if path else ()
            found += [(method, one) for method in methods.split("|") for one in whole]
    return found


def spelled_out(path: str) -> list[str]:
    """A path with and without its optional parts: `/a[/b|/c]` is three."""
    optional = _OPTIONAL.search(path)
    if optional is None:
        return [path]
    return [
        one
        for part in ("", *optional[1].split("|"))
        for one in spelled_out(path[: optional.start()] + part + path[optional.end() :])
    ]


def is_described(method: str, path: str, api: dict[str, Any]) -> bool:
    """Whether the API has such a path with such a method."""
    begins = ".*" if path.startswith("…") else re.escape(PREFIX)
    pieces = [re.escape(piece) for piece in _PARAM.split(path.removeprefix("…"))]
    # What has braces in a page may be a parameter, or one of several words that are paths of their own.
    pattern = re.compile(begins + r"[^/]+".join(pieces).replace("…", ".*"))
    return any(method.lower() in api["paths"][known] for known in api["paths"] if pattern.fullmatch(known))


@pytest.mark.parametrize("page", [page for page in pages() if named_paths(page)], ids=page_name)
def test_a_path_that_a_page_names_is_one_of_the_api(page: Path, api: dict[str, Any]) -> None:
    assert [named for named in named_paths(page) if not is_described(*named, api)] == []


def test_a_path_that_is_not_there_is_found(api: dict[str, Any]) -> None:
    assert (ROOT / "docs" / "rest.md") in [page for page in pages() if named_paths(page)]
    assert spelled_out("/a[/b|/c]") == ["/a", "/a/b", "/a/c"]
    assert is_described("PUT", "/workflows/{w}/actions/{stop|kill}", api)
    assert is_described("GET", "…/instances/{i}", api)
    assert not is_described("GET", "/workflow/{w}", api)
    assert not is_described("DELETE", "/signals", api)
