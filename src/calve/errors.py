"""The error tree: every mistake a user can make has a code, a reason and a remedy.

    CalveError
    ├── UsageError        exit 2   the call, the settings or the input is wrong
    │   ├── NotFoundError          a table, snapshot, capture or consumer that is not there
    │   └── RefusedError           a request that would give wrong rows, so it is not carried out
    ├── FailedError       exit 1   the work was right to ask for, and did not succeed
    │   ├── CorruptError           metadata that cannot be read
    │   └── ConflictError          somebody else got there first
    └── UnreachableError  exit 3   a catalog, store or database that does not answer

Codes are stable and are what programs should look at; messages are for people.
"""

from __future__ import annotations

from typing import ClassVar


class CalveError(Exception):
    """Anything Calve reports to its user. `code` is stable, `remedy` says what to do next."""

    exit_code: ClassVar[int] = 1

    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.remedy = remedy

    def to_json(self) -> dict[str, str]:
        """The error as the CLI and the API show it."""
        return {"code": self.code, "message": self.message, "remedy": self.remedy}


class UsageError(CalveError):
    """The call, the settings or the input is wrong."""

    exit_code = 2


class NotFoundError(UsageError):
    """The thing that was named does not exist."""


class RefusedError(UsageError):
    """Carrying this out would give wrong rows, so it is not carried out."""


class FailedError(CalveError):
    """The work did not succeed."""

    exit_code = 1


class CorruptError(FailedError):
    """Metadata that cannot be read."""

    @classmethod
    def damaged(cls, location: str, damage: Exception) -> CorruptError:
        """A file that is there and does not hold what it should."""
        return cls(
            "METADATA_CORRUPT",
            f"{location} cannot be read: {type(damage).__name__}: {damage}",
            "restore the file, or roll the table back to a snapshot that does not use it",
        )


class ConflictError(FailedError):
    """Somebody else got there first."""


class UnreachableError(CalveError):
    """A catalog, an object store or a database does not answer."""

    exit_code = 3
