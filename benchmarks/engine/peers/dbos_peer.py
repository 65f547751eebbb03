"""DBOS: steps called directly, and workflows through its queue. Arguments: the database's URL, the scale."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from dbos import DBOS
from measuring import times

_QUEUE = "bench"
#: Its default is a second, which would be most of what is measured.
_POLL_S = 0.01


def main() -> None:
    """Measure, and print times in seconds for each thing done."""
    url, scale = sys.argv[1], json.loads(sys.argv[2])
    logging.disable(logging.WARNING)
    DBOS(config={"name": "bench", "system_database_url": url, "log_level": "ERROR"})

    def nothing(number: int) -> int:
        return number

    step = DBOS.step(name="nothing")(nothing)

    def chained(steps: int) -> int:
        return sum(step(number) for number in range(steps))

    chain = DBOS.workflow(name="chain")(chained)

    def spread(steps: int) -> int:
        handles = [DBOS.enqueue_workflow(_QUEUE, chain, 1) for _ in range(steps)]
        return sum(handle.get_result(polling_interval_sec=_POLL_S) for handle in handles)

    fan_out = DBOS.workflow(name="fan_out")(spread)

    async def nothing_async(number: int) -> int:
        return number

    async_step = DBOS.step(name="nothing_async")(nothing_async)

    async def gathered(steps: int) -> int:
        return sum(await asyncio.gather(*(async_step(number) for number in range(steps))))

    gather = DBOS.workflow(name="gather")(gathered)

    def burst(count: int) -> None:
        handles = [DBOS.enqueue_workflow(_QUEUE, chain, 1) for _ in range(count)]
        for handle in handles:
            handle.get_result(polling_interval_sec=_POLL_S)

    DBOS.launch()
    DBOS.register_queue(_QUEUE, polling_interval_sec=_POLL_S)
    print(json.dumps({"version": version("dbos"), "times": _measure(scale, chain, gather, fan_out, burst)}))
    DBOS.destroy()


def _measure(
    scale: dict[str, Any], chain: Any, gather: Any, fan_out: Any, burst: Callable[[int], None]
) -> dict[str, Any]:
    # One loop for all: DBOS gives it its threads, which end with the loop.
    loop = asyncio.new_event_loop()
    steps, wide, many = scale["chain_steps"], scale["parallel_steps"], scale["burst_runs"]
    return {
        "direct": {
            "one step": times(lambda: chain(1), scale["one_step_runs"]),
            "chain": times(lambda: chain(steps), scale["chain_runs"], steps),
            "parallel": times(lambda: loop.run_until_complete(gather(wide)), scale["parallel_runs"], wide),
        },
        "queue": {
            "parallel": times(lambda: fan_out(wide), scale["parallel_runs"], wide),
            "burst": times(lambda: burst(many), scale["burst_rounds"], many),
        },
    }


if __name__ == "__main__":
    main()
