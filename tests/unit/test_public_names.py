"""What `import calve` offers, and what it costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import calve
from support.ledgers import added, append, make_table


def test_every_public_name_can_be_had() -> None:
    assert all(getattr(calve, name) is not None for name in calve.__all__)


def test_importing_calve_loads_nothing_heavy() -> None:
    program = (
        "import calve, sys; print([x for x in ('pyiceberg', 'sqlalchemy', 'typer') if x in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert answer.stdout.strip() == "[]"


def test_three_lines_capture_and_commit(home: Path) -> None:
    with calve.connect(home) as lake:
        append(make_table(lake), 1, 2)
        capture = lake.capture("db.t", consumer="daily")
        assert added(capture.changes) == [1, 2]
        assert capture.commit().record.status == "committed"
