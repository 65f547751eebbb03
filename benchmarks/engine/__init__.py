"""The benchmark of the workflow engine, beside raw commits and two other engines."""

from __future__ import annotations

import sys
from pathlib import Path

# The tests' support knows how to start a PostgreSQL and engines in processes of their own.
sys.path.append(str(Path(__file__).parents[2] / "tests"))
