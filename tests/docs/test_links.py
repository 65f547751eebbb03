"""Every link within the repository leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.docs.blocks import ROOT, page_name
from support.docs.prose import prose

PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
]
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE = re.compile(r"`[^`\n]*`")
_HEADING = re.compile(r"^#+ +(.+?)\s*$", re.MULTILINE)
_NOT_IN_ANCHORS = re.compile(r"[^\w\- ]")


def anchors(page: Path) -> set[str]:
    """The anchors that a code host gives to the headings of a page."""
    found = set()
    for heading in _HEADING.findall(prose(page)):
        plain = _NOT_IN_ANCHORS.sub("", heading.replace("`", "").lower())
        found.add(plain.replace(" ", "-"))
    return found


def broken_links(page: Path) -> list[str]:
    broken = []
    for link in _LINK.findall(_CODE.sub("", prose(page))):
        path, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link):
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    return broken


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    assert broken_links(page) == []


def test_every_page_is_reached_from_the_index() -> None:
    waiting, seen = [ROOT / "docs" / "index.md"], set()
    while waiting:
        page = waiting.pop()
        if page in seen or page.suffix != ".md" or not page.is_file():
            continue
        seen.add(page)
        links = _LINK.findall(_CODE.sub("", prose(page)))
        waiting += [(page.parent / link.partition("#")[0]).resolve() for link in links if ":" not in link]
    assert {page for page in PAGES if "docs" in page.parts} <= seen
