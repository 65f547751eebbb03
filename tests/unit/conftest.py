from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from calve.engine.orchestrator import Orchestrator
from calve.settings import load_settings
from support.states import place_state


@pytest.fixture
def orchestrator(home: Path) -> Iterator[Orchestrator]:
    """An empty state that no engine runs."""
    place_state(home)
    made = Orchestrator(load_settings(home))
    yield made
    made.database.close()
