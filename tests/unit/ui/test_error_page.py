"""Errors as pages: what was found, what to do, where to go on."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from calve.ui.rendering import environment


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/workflows/none_such", "/workflows?search=none_such"),
        ("/workflows/none_such/instances/7", "/workflows?search=none_such"),
        pytest.param("/tables/db.none_such", "/tables?search=db.none_such", marks=pytest.mark.slow),
    ],
)
def test_what_is_not_there_can_be_looked_for(browser: TestClient, path: str, place: str) -> None:
    page = browser.get(path)
    assert page.status_code == 404
    assert f'href="{place}"' in page.text
    assert page.text.count("<h1") == 1


def test_an_address_that_is_not_there_names_the_places_to_begin(browser: TestClient) -> None:
    page = browser.get("/nowhere/<b>")
    assert page.status_code == 404
    assert "There is no such page" in page.text
    assert "/nowhere/&lt;b&gt;" in page.text
    assert '<a class="button" href="/lineage">Lineage</a>' in page.text


def test_what_is_sought_is_escaped(browser: TestClient) -> None:
    page = browser.get("/workflows/%22%3E%3Cb%3E%26x=1")
    assert "<b>" not in page.text.split("<main", 1)[1]
    assert 'href="/workflows?search=%22%3E%3Cb%3E%26x%3D1"' in page.text


def test_what_stands_between_backticks_is_code_and_all_is_escaped() -> None:
    shown = environment().from_string("{{ text | coded }}").render(text="see <b> with `calve <x>`")
    assert shown == "see &lt;b&gt; with <code>calve &lt;x&gt;</code>"
