"""Where a JVM that many steps share writes its log: each step's part to the log of that step."""

from __future__ import annotations

import shlex

from calve.spark.host.folder import HostFolder

#: Spark passes local properties of this kind on to the threads of tasks, as context of their log lines.
LOG_PROPERTY = "mdc.calve"

_OPTIONS = "spark.driver.extraJavaOptions"
_PATTERN = "%d{yyyy-MM-dd HH:mm:ss} %p %c{1}: %m%n%ex"
_CONFIGURATION = f"""\
rootLogger.level = warn
rootLogger.appenderRef.routing.ref = routing

appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = {_PATTERN}

appender.routing.type = Routing
appender.routing.name = routing
appender.routing.purge.type = IdlePurgePolicy
appender.routing.purge.timeToLive = 1
appender.routing.purge.timeUnit = minutes
appender.routing.routes.type = Routes
appender.routing.routes.pattern = $${{ctx:{LOG_PROPERTY}}}
appender.routing.routes.shared.type = Route
appender.routing.routes.shared.key = $${{ctx:{LOG_PROPERTY}}}
appender.routing.routes.shared.ref = console
appender.routing.routes.step.type = Route
appender.routing.routes.step.file.type = File
appender.routing.routes.step.file.name = ${{ctx:{LOG_PROPERTY}}}
appender.routing.routes.step.file.fileName = ${{ctx:{LOG_PROPERTY}}}
appender.routing.routes.step.file.append = true
appender.routing.routes.step.file.layout.type = PatternLayout
appender.routing.routes.step.file.layout.pattern = {_PATTERN}

# Says the same as the error that reaches the step.
logger.tasks.name = org.apache.spark.scheduler.TaskSetManager
logger.tasks.level = error
"""


def write_log_settings(folder: HostFolder, conf: dict[str, str]) -> dict[str, str]:
    """Spark's settings, with the log added; a log that the user has set up stays as it is."""
    options = conf.get(_OPTIONS, "")
    if "log4j" in options:
        return conf
    file = folder.path / "log4j2.properties"
    file.write_text(_CONFIGURATION, encoding="utf-8")
    ours = shlex.quote(f"-Dlog4j2.configurationFile={file.as_uri()}")
    return conf | {_OPTIONS: f"{options} {ours}".strip()}
