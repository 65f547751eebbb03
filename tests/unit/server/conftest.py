from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from calve.engine.orchestrator import Orchestrator
from calve.server.app import PREFIX, create_app
from calve.settings import load_settings
from support.states import place_state


@pytest.fixture
def orchestrator(home: Path) -> Iterator[Orchestrator]:
    place_state(home)
    made = Orchestrator(load_settings(home))
    yield made
    made.database.close()


@pytest.fixture
def api(orchestrator: Orchestrator) -> TestClient:
    """The API over an empty state that no engine runs."""
    app = create_app(orchestrator)
    base = f"http://testserver{PREFIX}"
    return TestClient(app, base_url=base, headers={"user": "tester"}, raise_server_exceptions=False)
