"""Definitions in Python: the same language, written as calls.

    with Workflow("demo.orders", owner="alice", region="us") as orders:
        prepare = job("prepare", "NoOp", rows=42)
        with foreach("per_day", {"day": [1, 2, 3]}) as per_day:
            job("load", "Shell", script="load.sh $region $day") >> subworkflow("check", "demo.check")
        done = job("done", "NoOp")
        prepare.when("rows > 0") >> per_day >> done
        prepare.otherwise() >> done
    print(orders)

`a >> b` is an edge; a list on either side stands for all of its jobs. A keyword that is no word of the
language is a param. Nothing is checked before `build`, `definition` or `str` is asked for: then all of it.
"""

from __future__ import annotations

from calve.workflow.definition.building.jobs import Branch, Job, Loop
from calve.workflow.definition.building.kinds import foreach, job, subworkflow, while_
from calve.workflow.definition.building.params import Param, param, sel
from calve.workflow.definition.building.workflow import Workflow

__all__ = [
    "Branch",
    "Job",
    "Loop",
    "Param",
    "Workflow",
    "foreach",
    "job",
    "param",
    "sel",
    "subworkflow",
    "while_",
]
