"""What went wrong in a Spark step, told apart by who has to do something about it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from calve.errors import CalveError, UsageError
from calve.spark.files import write_json
from calve.spark.statements import Statement
from calve.spark.step.spec import FAILURE_FILE

#: Exit codes of the step's process.
USER_ERROR = 1
FATAL_ERROR = 2
#: What runs the step failed; trying again may help.
PLATFORM_ERROR = 75

_LONGEST_MESSAGE = 4000
_LOST_ANSWER = re.compile(r"Answer from Java side is empty|Error while (sending|receiving)|network error")
_LOST_JVM = re.compile(
    r"java\.lang\.OutOfMemoryError|java\.net\.(?:ConnectException|UnknownHostException|NoRouteToHostException)"
    r"|SparkContext (?:was|has been) shut ?down|Cannot call methods on a stopped SparkContext"
)
#: What Iceberg says when another writer came first; nothing of the statement has landed.
_CONFLICT = re.compile(
    r"(?:ValidationException: (?:Found (?:new )?conflicting|Missing required files)"
    r"|CommitFailedException: )[^\n]*"
)
WRITE_CONFLICT = "WRITE_CONFLICT"
_LOST_CONNECT = re.compile(r"StatusCode\.UNAVAILABLE|RETRIES_EXCEEDED|failed to connect to all addresses")


@dataclass(frozen=True, slots=True)
class Failure:
    """The end of a step that failed."""

    exit_code: int
    code: str
    message: str
    remedy: str

    def write(self, folder: Path) -> None:
        """Keep it for the engine."""
        write_json(folder / FAILURE_FILE, asdict(self))


class StatementError(Exception):
    """A statement of a script failed; the reason is its cause."""

    def __init__(self, number: int, total: int, statement: Statement) -> None:
        super().__init__(f"statement {number} of {total}, on line {statement.line}")
        self.number = number


def explain(error: BaseException, *, spark_is_gone: bool = False) -> Failure:
    """Whose failure it is: the user's, unless Spark or what it runs on is gone."""
    chain = list(_chain(error))
    for cause in chain:
        if isinstance(cause, CalveError):
            code = FATAL_ERROR if isinstance(cause, UsageError) else PLATFORM_ERROR
            return Failure(code, cause.code, cause.message, cause.remedy)
        if spark_is_gone or _is_lost(cause):
            return Failure(
                PLATFORM_ERROR,
                "SPARK_LOST",
                f"Spark is gone, or does not answer: {_text(cause)}",
                "the step may be tried again; if it happens again, look at the memory of Spark's driver",
            )
        if (found := _CONFLICT.search(str(cause))) is not None:
            return Failure(
                PLATFORM_ERROR,
                WRITE_CONFLICT,
                f"another writer changed the table in the meantime: {found[0]}",
                "the step may be tried again; a condition on the partition in the statement avoids conflicts",
            )
    return _users(error)


def _users(error: BaseException) -> Failure:
    if isinstance(error, SystemExit):
        return Failure(
            USER_ERROR, "STEP_FAILED", f"the script ended with {error.code!r}", "look at the step's log"
        )
    if isinstance(error, StatementError):
        said = f"{error}: {_text(error.__cause__ or error)}"
        return Failure(USER_ERROR, "SPARK_STATEMENT_FAILED", said, "correct the statement")
    return Failure(USER_ERROR, "STEP_FAILED", _text(error), "look at the step's log")


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def _is_lost(error: BaseException) -> bool:
    module = type(error).__module__
    if module.startswith("py4j"):
        return type(error).__name__ == "Py4JNetworkError" or bool(
            _LOST_ANSWER.search(str(error)) or _LOST_JVM.search(str(error))
        )
    if module.startswith("grpc"):
        return bool(_LOST_CONNECT.search(str(error)))
    return module.startswith("pyspark") and bool(
        _LOST_JVM.search(str(error)) or _LOST_CONNECT.search(str(error))
    )


def _text(error: BaseException) -> str:
    """What an error says, with Spark's name for it and without Java's stack."""
    message = getattr(error, "getMessage", None)
    said = (message() if callable(message) else None) or str(error)
    said = str(said).split("\nJVM stacktrace:")[0].strip()
    named = said if said.startswith("[") else f"{type(error).__name__}: {said}"
    return named if len(named) <= _LONGEST_MESSAGE else named[:_LONGEST_MESSAGE] + "…"
