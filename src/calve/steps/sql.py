"""Sql: a SQL script in Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import model_validator

from calve.steps.contract import Options
from calve.steps.schema import optional, schema
from calve.steps.spark import Spark
from calve.steps.spark_spec import SparkOptions
from calve.workflow.params import ParamDefinition, ParamType


class SqlOptions(SparkOptions):
    """The SQL, under either of two names, and in which Spark."""

    section: ClassVar[str | None] = "sql"

    @model_validator(mode="before")
    @classmethod
    def _query_is_script(cls, params: Mapping[str, Any]) -> dict[str, Any]:
        given = {name: params[name] for name in ("script", "query") if params.get(name) is not None}
        if len(given) != 1:
            raise ValueError(f"give one of script and query, found {' and '.join(given) or 'none'}")
        others = {name: value for name, value in params.items() if name not in ("query", "file", "main")}
        return {**others, "script": next(iter(given.values()))}


class Sql(Spark):
    """SQL statements in Spark."""

    name: ClassVar[str] = "Sql"
    schema: ClassVar[Mapping[str, ParamDefinition]] = schema(
        optional("script", ParamType.STRING),
        optional("query", ParamType.STRING),
        optional("session", ParamType.STRING),
        optional("spark_conf", ParamType.STRING_MAP),
        optional("spark_url", ParamType.STRING),
        optional("master", ParamType.STRING),
        optional("cwd", ParamType.STRING),
        optional("exactly_once", ParamType.BOOLEAN),
    )
    options: ClassVar[type[Options]] = SqlOptions
