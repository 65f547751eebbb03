from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from calve.engine.orchestrator import Orchestrator
from calve.server.app import PREFIX, create_app


@pytest.fixture
def api(orchestrator: Orchestrator) -> TestClient:
    """The API over an empty state that no engine runs."""
    app = create_app(orchestrator)
    base = f"http://localhost{PREFIX}"
    return TestClient(app, base_url=base, headers={"user": "tester"}, raise_server_exceptions=False)
