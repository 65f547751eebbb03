"""Dagster's in-process executor, on its own SQLite storage. Arguments: a folder, the scale."""

from __future__ import annotations

import json
import logging
import sys
from importlib.metadata import version
from typing import Any

from dagster import DagsterInstance, In, Nothing, job, op
from measuring import times


def main() -> None:
    """Measure, and print times in seconds for each thing done."""
    folder, scale = sys.argv[1], json.loads(sys.argv[2])
    logging.disable(logging.WARNING)
    steps = scale["chain_steps"]
    one, chain = _chain("one", 1), _chain("chain", steps)
    with DagsterInstance.local_temp(folder) as instance:
        found = {
            "one step": times(lambda: one.execute_in_process(instance=instance), scale["chain_runs"]),
            "chain": times(lambda: chain.execute_in_process(instance=instance), scale["chain_runs"], steps),
        }
    print(json.dumps({"version": version("dagster"), "times": {"in process": found}}))


def _chain(name: str, steps: int) -> Any:
    def nothing() -> None:
        pass

    one = op(ins={"before": In(Nothing)}, name="nothing")(nothing)

    def compose() -> None:
        last: Any = None
        for number in range(steps):
            step = one.alias(f"s{number}")
            last = step() if last is None else step(before=last)

    return job(name=name)(compose)


if __name__ == "__main__":
    main()
