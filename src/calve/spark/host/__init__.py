"""The embedded Spark: one JVM in a process of its own that steps attach to, each with a session of its own.

The first step that needs it starts it (`connecting`), or `start` does so beforehand; it serves until nobody
has used it for a while (`serving`), and `stop` ends it at once.
"""

from __future__ import annotations

from calve.spark.host.connecting import start
from calve.spark.host.stopping import stop

__all__ = ["start", "stop"]
