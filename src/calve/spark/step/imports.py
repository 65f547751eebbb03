"""Imports that PySpark makes slow, made fast: a step of a warm Spark is mostly imports."""

from __future__ import annotations

import sys
from typing import Any


def look_into_no_jars(context: Any) -> None:
    """Spark takes the jars of its packages for Python packages, and looks into them at every import."""
    sys.path[:] = [path for path in sys.path if not path.endswith(".jar")]
    context._python_includes = [name for name in context._python_includes or () if not name.endswith(".jar")]


def use_no_numpy_before_its_time() -> None:
    """Spare a step the import of NumPy and pandas: PySpark makes it only to find out if a value is theirs."""
    from pyspark.sql import types

    def converts(kind: str) -> Any:
        def can_convert(self: object, value: object) -> bool:
            numpy = sys.modules.get("numpy")
            return (
                numpy is not None
                and isinstance(value, getattr(numpy, kind))
                and getattr(value, "ndim", 0) < 2
            )

        return can_convert

    types.NumpyScalarConverter.can_convert = converts("generic")  # type: ignore[method-assign]
    types.NumpyArrayConverter.can_convert = converts("ndarray")  # type: ignore[method-assign]
