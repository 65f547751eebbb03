"""Small files between processes: read whole or not at all, and by their owner only."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_OWNER_ONLY = 0o600


def write_json(file: Path, document: Mapping[str, Any]) -> None:
    """Put a document in place of what was there; others see the old one or the new one."""
    write_private(file, json.dumps(document, default=str))


def write_private(file: Path, text: str) -> None:
    """The same for any text."""
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    draft.touch(_OWNER_ONLY)
    draft.write_text(text, encoding="utf-8")
    draft.replace(file)


def read_json(file: Path) -> dict[str, Any] | None:
    """The document of a file; None if there is none, or none yet."""
    try:
        document = json.loads(file.read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    return document if isinstance(document, dict) else None
