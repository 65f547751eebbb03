"""What the tests of step types share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.http_server import Server, http_server


@pytest.fixture
def server() -> Iterator[Server]:
    """An HTTP server of this test."""
    with http_server() as running:
        yield running
