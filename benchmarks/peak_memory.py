"""One capture in a process of its own, which tells its peak of resident memory."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.lakes import open_lake
from calve.lake import Mode


def main() -> None:
    """Arguments: home, table, from, to."""
    home, table, start, end = sys.argv[1:]
    bench = open_lake(Path(home))
    bench.capture(table, Mode.NET, int(start), int(end), range_columns=("at",), branch="main")
    # Not getrusage: its peak counts the parent's memory from before the exec.
    status = Path("/proc/self/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    print(json.dumps({"peak_bytes": int(peak.split()[1]) * 1024}))


if __name__ == "__main__":
    main()
