"""Threads that import late do so one after the other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

#: The threads of an engine need what reads tables at once. Who looks for a module is noted, in order.
_AT_ONCE = """
import sys, threading
from itertools import pairwise
from pathlib import Path
from calve.engine.triggers.tables.watcher import TableWatcher
from calve.settings import load_settings
from calve.state.database import Database
from calve.steps.registry import find

asked = []

class Notes:
    def find_spec(self, name, path, target=None):
        asked.append(threading.get_ident())

settings = load_settings(Path(sys.argv[1]))
watcher = TableWatcher(settings, Database(settings.state_url))
late = (lambda: find("Python"), watcher._make_looker, lambda: find("IpCapture"))
threads = [threading.Thread(target=one) for one in late]
sys.setswitchinterval(1e-6)
sys.meta_path.insert(0, Notes())
for one in threads: one.start()
for one in threads: one.join()
turns = 1 + sum(one != other for one, other in pairwise(asked))
sys.exit(0 if turns == len(set(asked)) > 1 else f"{turns} turns of {len(set(asked))} threads")
"""


def test_one_thread_imports_while_the_others_wait(home: Path) -> None:
    command = [sys.executable, "-c", _AT_ONCE, str(home)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
