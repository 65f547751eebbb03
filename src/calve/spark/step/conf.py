"""The Spark settings of a step, in a session that is shared with others in its statics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calve.errors import UsageError

_FIXED = ("CANNOT_MODIFY_CONFIG", "CANNOT_MODIFY_STATIC_CONFIG")


def set_conf(spark: Any, conf: Mapping[str, str], where: str) -> None:
    """Set runtime settings. Raises `UsageError` SPARK_CONF_FIXED for those that only a start can set."""
    from pyspark.errors import PySparkException

    for key, value in conf.items():
        try:
            spark.conf.set(key, value)
        except PySparkException as error:
            condition = str(error.getCondition())
            if not any(condition.startswith(name) for name in _FIXED):
                raise
            raise UsageError(
                "SPARK_CONF_FIXED",
                f"spark_conf has {key}, which cannot be changed in {where}",
                "use 'session: submit' for this step, or set it under spark.conf in calve.toml for all steps",
            ) from error
