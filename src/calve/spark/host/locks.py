"""Who is alive, told by locks: the system lets go of a lock when its holder dies, however it dies."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

_OWNER_ONLY = 0o600
_TRY_EVERY_S = 0.05


def acquire(file: Path, patience_s: float = 0.0) -> int | None:
    """Hold a file as long as this process lives; None if somebody else holds it.

    Gives the descriptor. Those who only look hold it for an instant: hence the patience.
    """
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT, _OWNER_ONLY)
    deadline = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                os.close(descriptor)
                return None
            time.sleep(_TRY_EVERY_S)
        else:
            return descriptor


def is_held(file: Path) -> bool:
    """True if some process holds the file."""
    try:
        descriptor = os.open(file, os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
