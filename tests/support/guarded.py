"""Spark steps under a capture, without an engine around them."""

from __future__ import annotations

import itertools

from calve.settings import Settings
from calve.spark.once.plan import OncePlan
from calve.spark.once.scope import Scope
from calve.spark.targets import write_of
from calve.steps.contract import StepContext
from calve.steps.incremental.shared import ledger_of
from calve.steps.spark import Spark
from calve.steps.sql import Sql
from calve.steps.writes import texts_of
from support.ledgers import append, make_table

_numbers = itertools.count(1)


class _Guarded:
    """Steps that run under one real capture; every attempt is one of the same step."""

    def __init__(self, settings: Settings, source: str) -> None:
        self.ledger = ledger_of(settings)
        append(make_table(self.ledger, source), 1)
        self.capture = self.ledger.capture(f"lake.{source}", consumer=f"guarded{next(_numbers)}")

    def plan_writes(self, context: StepContext, script: str | None) -> OncePlan | None:
        texts = {} if script is None else texts_of(script)
        writes = {name: write for name, text in texts.items() if (write := write_of(text)) is not None}
        told = {"capture": self.capture.to_json()}
        return OncePlan(Scope(((self.capture.id, "write"),)), script=writes, captures=told)

    def rows(self, table: str) -> list[int]:
        found = self.ledger.lake.catalog("lake").load_table(table.removeprefix("lake."))
        return sorted(found.scan().to_arrow().column(0).to_pylist())


class GuardedSql(_Guarded, Sql):
    """`type: Sql` under a capture."""


class GuardedSpark(_Guarded, Spark):
    """`type: Spark` under a capture."""
