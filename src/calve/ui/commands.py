"""Commands that do on a shell what a page shows."""

from __future__ import annotations

import shlex


def command(*words: str | int | None) -> str:
    """A command of `calve`, so quoted that a shell reads each word as it is; what is empty is left out."""
    return shlex.join(["calve", *(str(word) for word in words if word not in (None, ""))])
