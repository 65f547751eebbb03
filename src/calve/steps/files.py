"""Files that appear complete or not at all."""

from __future__ import annotations

import tempfile
from pathlib import Path


def write_whole(file: Path, text: str) -> Path:
    """Write a file in one step: who has opened an earlier one goes on reading that."""
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", errors="surrogateescape", newline="", dir=file.parent, delete=False
    ) as stream:
        stream.write(text)
    return Path(stream.name).replace(file)
