"""The params that every workflow and every step has, unless it says otherwise."""

from __future__ import annotations

from calve.workflow.params.kinds import InternalMode, ParamMode, ParamType
from calve.workflow.params.model import ParamDefinition

_UTC = "'UTC'"
_PACIFIC = "'America/Los_Angeles'"
_LOCAL = "WORKFLOW_CRON_TIMEZONE"
_DATE = "yyyyMMdd"
_HOUR = "HH"


def _on_start(name: str, type_: ParamType, expression: str) -> ParamDefinition:
    return ParamDefinition(name=name, type=type_, expression=expression, mode=ParamMode.MUTABLE_ON_START)


def _time(name: str, instant: str, zone: str, pattern: str, shift: str = "") -> ParamDefinition:
    local = f"new DateTime({instant}).withZone(DateTimeZone.forID({zone}))"
    return _on_start(name, ParamType.STRING, f"{local}{shift}.toString('{pattern}');")


def _zone(name: str, field: str, otherwise: str) -> ParamDefinition:
    expression = f"zone = params.getFromInstance('{field}'); return zone.isEmpty() ? {otherwise} : zone;"
    return _on_start(name, ParamType.STRING, expression)


def _reserved(name: str, type_: ParamType, function: str) -> ParamDefinition:
    expression = f"return params.{function}('{name}');"
    return ParamDefinition(name=name, type=type_, expression=expression, internal_mode=InternalMode.RESERVED)


def _by_name(*params: ParamDefinition) -> dict[str, ParamDefinition]:
    return {param.name: param for param in params}


_DERIVED = "DERIVED_RUN_TS"
_DERIVED_EXPRESSION = (
    f"DateTimeFormat.forPattern('{_DATE}{_HOUR}').withZone(DateTimeZone.forID({_LOCAL}))"
    ".parseDateTime(TARGET_RUN_DATE + TARGET_RUN_HOUR).getMillis();"
)
_DERIVED_UTC = (
    ("", ""),
    ("_MINUS_ONE_HOUR", ".minusHours(1)"),
    ("_PLUS_ONE_HOUR", ".plusHours(1)"),
)

WORKFLOW_DEFAULTS = _by_name(
    _zone("DSL_DEFAULT_TZ", "FIRST_TIME_TRIGGER_TIMEZONE", _UTC),
    _zone("WORKFLOW_CRON_TIMEZONE", "INITIATOR_TIMEZONE", "DSL_DEFAULT_TZ"),
    _on_start("RUN_TS", ParamType.LONG, "System.currentTimeMillis();"),
    _time("TARGET_RUN_DATE", "RUN_TS", _LOCAL, _DATE),
    _time("TARGET_RUN_HOUR", "RUN_TS", _LOCAL, _HOUR),
    _on_start(_DERIVED, ParamType.LONG, _DERIVED_EXPRESSION),
    _time("DERIVED_RUN_DATE_US_PACIFIC", _DERIVED, _PACIFIC, _DATE),
    _time("DERIVED_RUN_DATE_US_PACIFIC_MINUS_ONE", _DERIVED, _PACIFIC, _DATE, ".minusDays(1)"),
    _time("DERIVED_RUN_DATE_UTC_MINUS_ONE", _DERIVED, _UTC, _DATE, ".minusDays(1)"),
    _time("DERIVED_RUN_DATE_UTC_PLUS_ONE", _DERIVED, _UTC, _DATE, ".plusDays(1)"),
    _time("DERIVED_RUN_HOUR_US_PACIFIC", _DERIVED, _PACIFIC, _HOUR),
    *(_time(f"DERIVED_RUN_DATE_UTC{name}", _DERIVED, _UTC, _DATE, shift) for name, shift in _DERIVED_UTC),
    *(_time(f"DERIVED_RUN_HOUR_UTC{name}", _DERIVED, _UTC, _HOUR, shift) for name, shift in _DERIVED_UTC),
    _time("LOCAL_RUN_DATE", "RUN_TS", _LOCAL, _DATE),
    _time("RUN_DATE", "RUN_TS", _UTC, _DATE),
    _time("RUN_DATE_MINUS_1", "RUN_TS", _UTC, _DATE, ".minusDays(1)"),
    _time("RUN_DATE_MINUS_7", "RUN_TS", _UTC, _DATE, ".minusDays(7)"),
    ParamDefinition(name="job_template_version", type=ParamType.STRING, internal_mode=InternalMode.OPTIONAL),
    _reserved("owner", ParamType.STRING, "getFromInstance"),
    _reserved("workflow_id", ParamType.STRING, "getFromInstance"),
)

STEP_DEFAULTS = _by_name(
    _reserved("workflow_instance_id", ParamType.LONG, "getFromInstance"),
    _reserved("step_instance_uuid", ParamType.STRING, "getFromStep"),
    _reserved("step_attempt_id", ParamType.LONG, "getFromStep"),
    _reserved("step_id", ParamType.STRING, "getFromStep"),
)

_LOOP_PARAMS = ParamDefinition(
    name="loop_params",
    type=ParamType.MAP,
    value={},
    mode=ParamMode.MUTABLE_ON_START,
    internal_mode=InternalMode.REQUIRED,
)
_LOOP_INDEX = ParamDefinition(
    name="loop_index", type=ParamType.LONG, value=-1, internal_mode=InternalMode.RESERVED
)
_CONDITION = ParamDefinition(
    name="condition", type=ParamType.BOOLEAN, value=False, internal_mode=InternalMode.RESERVED
)
_SUBWORKFLOW_ID = ParamDefinition(
    name="subworkflow_id",
    type=ParamType.STRING,
    mode=ParamMode.MUTABLE_ON_START,
    internal_mode=InternalMode.REQUIRED,
)
_SUBWORKFLOW_VERSION = ParamDefinition(
    name="subworkflow_version",
    type=ParamType.STRING,
    value="active",
    mode=ParamMode.MUTABLE_ON_START,
    internal_mode=InternalMode.PROVIDED,
)

FOREACH_DEFAULTS = _by_name(_LOOP_PARAMS, _LOOP_INDEX)
WHILE_DEFAULTS = _by_name(_LOOP_PARAMS, _LOOP_INDEX, _CONDITION)
SUBWORKFLOW_DEFAULTS = _by_name(_SUBWORKFLOW_ID, _SUBWORKFLOW_VERSION)
DRY_RUN_DEFAULTS = _by_name(
    ParamDefinition(name="FROM_DATE", type=ParamType.STRING, value="20210101"),
    ParamDefinition(name="TO_DATE", type=ParamType.STRING, value="20210101"),
)
