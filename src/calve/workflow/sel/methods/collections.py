"""Methods of maps, of `params`, and of the classes that only hold functions."""

from __future__ import annotations

from typing import Any

from calve.errors import CalveError
from calve.workflow.sel import arguments as read
from calve.workflow.sel.boxing import box
from calve.workflow.sel.errors import SelError, unknown_name, value_error
from calve.workflow.sel.limits import OBJECT_BYTES
from calve.workflow.sel.methods.table import Methods
from calve.workflow.sel.runtime import Runtime
from calve.workflow.sel.values import NULL, Boolean, Kind, Long, Opaque, Text, Value, check_same


def _entries(value: Value) -> dict[str | None, Value]:
    if value.value is None:
        raise value_error("the map is null", "Make one: Map m = new HashMap();")
    found: dict[str | None, Value] = value.value
    return found


def _key(value: Value) -> str | None:
    check_same(Kind.STRING, value.kind)
    found: str | None = value.value
    return found


def _put(run: Runtime, value: Value, args: list[Value]) -> Value:
    entries, key = _entries(value), _key(args[0])
    run.meter.charge(OBJECT_BYTES)
    before = entries.get(key, NULL)
    entries[key] = args[1]
    return before


MAP: Methods = {
    ("size", 0): lambda run, value, _: Long(run.meter, len(value.value or ())),
    ("get", 1): lambda _, value, args: _entries(value).get(_key(args[0]), NULL),
    ("put", 2): _put,
    ("containsKey", 1): lambda run, value, args: Boolean(run.meter, _key(args[0]) in (value.value or ())),
    ("getOrDefault", 2): lambda _, value, args: _entries(value).get(_key(args[0]), args[1]),
}


def param(run: Runtime, name: str) -> Value:
    """`params.name`: the param, or null; always a new box, so that it cannot be changed through it."""
    return box(run.meter, run.params[name]) if name in run.params else NULL


PARAMS: Methods = {
    ("get", 1): lambda run, _, args: param(run, read.text(args[0])),
    ("containsKey", 1): lambda run, _, args: Boolean(run.meter, read.text(args[0]) in run.params),
}


def call_function(run: Runtime, name: str, args: list[Value]) -> Value:
    """`params.name(…)` where it is not a method: a function of the running workflow."""
    if run.functions is None:
        raise unknown_name(
            f"params.{name} is not available here", "It needs a running workflow; params.get always works."
        )
    plain = [read.text(item) for item in args]
    try:
        found: Any = run.functions.call(name, plain)
    except SelError:
        raise
    except CalveError as error:
        raise SelError("SEL_FUNCTION", f"params.{name}: {error.message}", error.remedy) from error
    run.meter.look_at_clock()
    return box(run.meter, found)


MISC: Methods = {
    ("currentTimeMillis", 0): lambda run, *_: Long(run.meter, run.host.now_ms()),
    ("asList", 1): lambda _run, _value, args: args[0],
}
UUID: Methods = {
    ("randomUUID", 0): lambda run, *_: Opaque(run.meter, Kind.UUID, run.host.random_uuid()),
    ("toString", 0): lambda run, value, _: Text(run.meter, value.value or "null"),
}
