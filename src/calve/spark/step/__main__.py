"""`python -m calve.spark.step SPEC`: the process of a Spark step.

`--interrupt SPEC` ends what such a process has left on a server.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from calve.spark.step.board import Board
from calve.spark.step.failures import Failure, StatementError, explain
from calve.spark.step.forms import run_form
from calve.spark.step.sessions import Session, Sessions
from calve.spark.step.spec import StepSpec
from calve.spark.step.submitting import INSIDE, become_spark_submit

_INTERRUPT = "--interrupt"


def say(line: str) -> None:
    """Write a line to the step's log."""
    print(line, flush=True)  # noqa: T201  the log of a step is what its process prints


def main(spec_file: str) -> int:
    """Run a step to its end; the exit code says whose failure it was."""
    spec = StepSpec.read(Path(spec_file))
    # The error itself reaches the log; these would add it once more, as one very long line, or as a stack.
    for noisy in ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "py4j"):
        logging.getLogger(noisy).setLevel(logging.CRITICAL)
    sessions = Sessions(spec, say)
    codes: list[int] = []
    try:
        if spec.session == "submit" and INSIDE not in os.environ:
            become_spark_submit(spec, Path(spec_file))
        with sessions.opened() as session:
            # Errors of Spark are explained while the session is there: it has the texts.
            codes.append(_work(spec, session, sessions))
    except Exception as error:  # noqa: BLE001  every failure of a step ends here, as an exit code
        if not codes:
            return _fail(spec, error, sessions)
        # Work that is done stays done, however the session closes.
        say(f"calve: the session did not close: {type(error).__name__}")
    return codes[0]


def _work(spec: StepSpec, session: Session, sessions: Sessions) -> int:
    try:
        with Board(Path(spec.folder), session.meter) as board:
            write_outputs(run_form(spec, session.spark, board, say))
            board.count()
    except (Exception, SystemExit) as error:  # noqa: BLE001  every failure of a step ends here, as an exit code
        return _fail(spec, error, sessions)
    return 0


def _fail(spec: StepSpec, error: BaseException, sessions: Sessions) -> int:
    failure = explain(error, spark_is_gone=sessions.is_gone())
    failure.write(Path(spec.folder))
    _show(error, failure)
    return failure.exit_code


def write_outputs(outputs: dict[str, Any]) -> None:
    """Keep the outputs, above what the job wrote into the file by itself."""
    if not outputs:
        return
    file = Path(os.environ["CALVE_OUTPUT"])
    before = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    draft = file.with_suffix(".tmp")
    draft.write_text(json.dumps({**before, **outputs}, allow_nan=False), encoding="utf-8")
    draft.replace(file)


def _show(error: BaseException, failure: Failure) -> None:
    """The user's own code gets a traceback; SQL and Calve's errors say enough by themselves."""
    if failure.code == "STEP_FAILED" and not isinstance(error, StatementError | SystemExit):
        traceback.print_exception(error)
    say(f"{failure.code}: {failure.message}")


def _run(arguments: list[str]) -> int:
    if arguments[0] == _INTERRUPT:
        from calve.spark.step.remote import interrupt

        interrupt(StepSpec.read(Path(arguments[1])))
        return 0
    return main(arguments[0])


if __name__ == "__main__":
    sys.exit(_run(sys.argv[1:]))
