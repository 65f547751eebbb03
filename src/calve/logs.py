"""Logs: structured, on stderr, quiet unless `CALVE_LOG_LEVEL` says otherwise.

Events go through the standard library's loggers, so a program that uses Calve as a library
keeps its own logging set-up, and hears only warnings if it has none.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import MutableMapping
from typing import Any, cast

import structlog

from calve.errors import UsageError

_SECRET = re.compile(r"password|secret|token|credential|access-key", re.IGNORECASE)
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """A logger that takes an event and key-value pairs: `log.info("captured", files=3)`."""
    logger = structlog.wrap_logger(
        logging.getLogger(name),
        processors=[structlog.stdlib.filter_by_level, mask_secrets, structlog.stdlib.render_to_log_kwargs],
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    return cast("structlog.stdlib.BoundLogger", logger)


def configure(level: str | None = None) -> None:
    """Send all logs of this process to stderr, at `level`, `CALVE_LOG_LEVEL`, or WARNING."""
    chosen = (level or os.environ.get("CALVE_LOG_LEVEL") or "WARNING").upper()
    if chosen not in _LEVELS:
        raise UsageError(
            "LOG_LEVEL_INVALID", f"{chosen!r} is not a log level", f"use one of {', '.join(_LEVELS)}"
        )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                # Values of variables would take seconds to print, and may be secrets.
                structlog.dev.ConsoleRenderer(
                    colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
                ),
            ],
            foreign_pre_chain=[
                structlog.stdlib.add_logger_name,
                structlog.stdlib.add_log_level,
                structlog.stdlib.ExtraAdder(),
            ],
        )
    )
    logging.basicConfig(level=chosen, handlers=[handler], force=True)


def mask_secrets(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Replace the values of keys that look like secrets."""
    for key in event:
        if _SECRET.search(key):
            event[key] = "***"
    return event


def notice(message: str) -> None:
    """A line on stderr for a person who waits; not a log event, so no level hides it."""
    sys.stderr.write(message + "\n")
    sys.stderr.flush()
