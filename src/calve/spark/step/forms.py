"""The three things that a Spark step can be: SQL, a script, a function."""

from __future__ import annotations

import importlib
import runpy
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from calve.errors import UsageError
from calve.spark.once.plan import OncePlan
from calve.spark.step.board import Board
from calve.spark.step.publishing import PublishPlan, run_published
from calve.spark.step.script import Say, run_script
from calve.spark.step.spec import StepSpec
from calve.spark.user import StepScope, enter_step


def run_form(spec: StepSpec, spark: Any, board: Board, say: Say) -> dict[str, Any]:
    """Do what the step asks for; the outputs that it gives."""
    plan = None if spec.once is None else OncePlan.from_json(spec.once)
    guard = None if plan is None else plan.guard(spark, Path(spec.folder), say)
    if spec.script is not None and spec.publish is not None:
        run_published(spark, spec.script, PublishPlan.from_json(spec.publish), board, say, guard)
        return {}
    if spec.script is not None:
        row = run_script(spark, spec.script, board, say, guard)
        return {name: value for name, value in row.items() if name in spec.declared}
    sys.path.insert(0, spec.search)
    captures = {} if plan is None else plan.captures
    enter_step(StepScope(spark, dict(spec.params), captures, say, guard))
    if spec.file is not None:
        _run_file(spec.file, spec.args)
        return {}
    return _outputs(_find_function(spec.main or "")(spark, dict(spec.params)))


def _run_file(file: str, args: list[str]) -> None:
    if not Path(file).is_file():
        raise UsageError("SPARK_FILE_MISSING", f"the script {file} is not there", "correct 'file'")
    sys.argv = [file, *args]
    try:
        runpy.run_path(file, run_name="__main__")
    except SystemExit as leaving:
        if leaving.code not in (None, 0):
            raise


def _find_function(target: str) -> Callable[..., Any]:
    module, _, path = target.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    except ModuleNotFoundError as error:
        if error.name is None or not (module + ".").startswith(error.name + "."):
            raise
        raise _not_found(target, f"there is no module {error.name}") from error
    except AttributeError as error:
        raise _not_found(target, str(error)) from error
    if not callable(found):
        raise _not_found(target, f"it is a {type(found).__name__}, not a function")
    return found  # type: ignore[no-any-return]


def _not_found(target: str, reason: str) -> UsageError:
    return UsageError(
        "SPARK_MAIN_MISSING", f"'main' is {target}: {reason}", "name a function as 'module:function'"
    )


def _outputs(result: object) -> dict[str, Any]:
    if result is None:
        return {}
    if not isinstance(result, Mapping):
        raise UsageError(
            "STEP_OUTPUT_INVALID",
            f"the function gives back a {type(result).__name__}, expected a dict of params, or nothing",
            "return {'name': value, …}",
        )
    return {str(name): value for name, value in result.items()}
