"""How new the code in a folder is."""

from __future__ import annotations

import hashlib
import itertools
import os
from pathlib import Path

_MOST_FOLDERS = 500
_NOT_CODE = frozenset({"node_modules", "__pycache__", "site-packages"})


def code_stamp(folder: Path) -> str:
    """Changes when a Python file in or below a folder does; of very many folders only some are looked at."""
    digest = hashlib.sha256()
    for place, folders, files in itertools.islice(os.walk(folder), _MOST_FOLDERS):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _NOT_CODE)
        for name in sorted(files):
            if name.endswith(".py"):
                state = Path(place, name).stat()
                digest.update(f"{place}/{name}:{state.st_mtime_ns}:{state.st_size}\n".encode())
    return digest.hexdigest()[:16]
