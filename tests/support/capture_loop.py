"""A program: captures and commits again and again, and writes down what it committed.

python capture_loop.py HOME STATE_URL CONSUMER MODE PARALLEL ROUNDS OUTPUT
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from calve.errors import ConflictError
from calve.ledger.capture import Capture
from calve.ledger.ledger import Ledger
from calve.settings import load_settings


def describe(capture: Capture) -> dict[str, object]:
    """What of a capture matters to whoever checks it."""
    segments = [[x.from_snapshot_exclusive, x.to_snapshot_inclusive] for x in capture.changes.segments]
    return {"id": capture.id, "segments": segments, "records": capture.changes.records}


def main(
    home: str, state_url: str, consumer: str, mode: str, parallel: str, rounds: str, output: str
) -> None:
    settings = load_settings(Path(home)).model_copy(update={"state_url": state_url})
    committed = []
    with Ledger(settings) as ledger:
        for _ in range(int(rounds)):
            capture = ledger.capture("db.t", consumer=consumer, mode=mode, parallel=parallel == "yes")
            try:
                capture.commit()
            except ConflictError:
                # The other process found that there was nothing in it, and took its place.
                if capture.has_changes:
                    raise
            else:
                committed.append(describe(capture))
    Path(output).write_text(json.dumps(committed))


if __name__ == "__main__":
    main(*sys.argv[1:])
