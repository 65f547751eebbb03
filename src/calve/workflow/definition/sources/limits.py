"""How big and how deep a text may be."""

from __future__ import annotations

from calve.workflow.definition.problems import Problems
from calve.workflow.definition.tree import Position

SIZE_LIMIT = 256 * 1024
DEPTH_LIMIT = 100
#: How many values aliases may add to those that are written out.
ALIAS_LIMIT = 10_000


def too_big(text: str, file: str, problems: Problems) -> bool:
    """True, and an error, if the text is bigger than a push may be."""
    size = len(text.encode("utf-8", "surrogatepass"))
    if size <= SIZE_LIMIT:
        return False
    problems.error(
        "FILE_TOO_BIG",
        f"the definition has {size:,} bytes",
        Position(file),
        found=f"{size:,} bytes",
        expected=f"at most {SIZE_LIMIT:,} bytes",
        remedy="Move long scripts to files of their own and include them with $FILE{path}.",
    )
    return True
