"""What the views behind the pages answer, kept as they answered; lists have their first entry alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("views.json")
ANSWERS: Mapping[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
