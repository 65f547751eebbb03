"""The pictures of the documentation can be read by everybody, and are shown somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from support.docs.blocks import ROOT, page_name

DRAWN = sorted((ROOT / "docs" / "pictures").glob("*.svg"))
SHOWN = [*DRAWN, *sorted((ROOT / "docs" / "screenshots").glob("*.png"))]
_SVG = "{http://www.w3.org/2000/svg}"
_IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")


@pytest.mark.parametrize("picture", DRAWN, ids=page_name)
def test_a_drawing_has_a_title_and_a_ground_of_its_own(picture: Path) -> None:
    root = ElementTree.parse(picture).getroot()
    assert root.get("role") == "img"
    assert root.findtext(f"{_SVG}title")
    ground = root.find(f"{_SVG}rect")
    assert ground is not None
    assert ground.get("fill") == "#ffffff", "it has to be readable on dark pages too"


@pytest.mark.parametrize("picture", DRAWN, ids=page_name)
def test_a_drawing_has_nothing_from_elsewhere(picture: Path) -> None:
    text = picture.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?:|<script|<image|@import", text)


def test_every_picture_is_on_a_page_with_words_for_it() -> None:
    shown = set()
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for words, target in _IMAGE.findall(page.read_text(encoding="utf-8")):
            assert words, f"{page_name(page)}: {target} has no text for those who do not see it"
            shown.add((page.parent / target).resolve())
    assert set(SHOWN) <= shown
