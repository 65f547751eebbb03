"""Imports that threads make when they first need something."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.RLock()


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Around an import in a thread beside others that import late, too.

    A package and its modules need each other. Where two threads begin at different ends of such a circle,
    Python shows one of them a module that is half made, instead of letting both wait for ever.
    """
    with _lock:
        yield
