from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from calve.engine.core.lease import take_lease
from calve.engine.orchestrator import Orchestrator
from calve.server.app import PREFIX, create_app
from calve.state.clock import now_ms
from calve.state.database import Database
from calve.ui.pages import TWINS
from calve.ui.site import add_pages


@pytest.fixture
def database(orchestrator: Orchestrator) -> Database:
    """The state behind the pages."""
    return orchestrator.database


@pytest.fixture
def browser(orchestrator: Orchestrator) -> TestClient:
    """Asks for pages as a browser does, and stays at a redirect; errors of the server are answers."""
    return TestClient(
        add_pages(create_app(orchestrator)),
        base_url="http://localhost",
        headers={"accept": "text/html"},
        follow_redirects=False,
        raise_server_exceptions=False,
    )


@pytest.fixture
def twins(browser: TestClient) -> TestClient:
    """Asks for the JSON twins of pages, by the paths of the pages."""
    return TestClient(browser.app, base_url=f"http://localhost{PREFIX}{TWINS}", raise_server_exceptions=False)


@pytest.fixture
def alive(database: Database) -> None:
    """An engine that has just shown that it lives."""
    with database.write() as connection:
        take_lease(connection, now_ms())
