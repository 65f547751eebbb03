"""The classes that an expression can name: static side, constructors, methods and fields."""

from __future__ import annotations

import difflib

from calve.workflow.sel import arguments as read
from calve.workflow.sel.dates.zones import UTC
from calve.workflow.sel.errors import type_error, unknown_name
from calve.workflow.sel.limits import Meter
from calve.workflow.sel.methods import collections, dates, numbers, strings, util
from calve.workflow.sel.methods.table import Methods, find
from calve.workflow.sel.runtime import Runtime
from calve.workflow.sel.values import (
    ELEMENT_OF,
    Boolean,
    Double,
    Kind,
    Long,
    MapValue,
    Opaque,
    Text,
    Value,
    empty,
)

#: The types that can be declared, by each of their names.
TYPES = {
    **dict.fromkeys(("int", "long", "Integer", "Long"), Kind.LONG),
    **dict.fromkeys(("float", "double", "Float", "Double"), Kind.DOUBLE),
    **dict.fromkeys(("boolean", "Boolean"), Kind.BOOLEAN),
    "String": Kind.STRING,
    **dict.fromkeys(("Map", "HashMap", "LinkedHashMap"), Kind.MAP),
    "DateTime": Kind.DATETIME,
    "DateTimeZone": Kind.DATETIME_ZONE,
    **dict.fromkeys(("DateTimeFormatter", "DateTimeFormat"), Kind.DATETIME_FORMATTER),
    "Property": Kind.DATETIME_PROPERTY,
    "Days": Kind.DATETIME_DAYS,
    "UUID": Kind.UUID,
}
_HOLDERS = {
    **dict.fromkeys(("DateTimeConstants", "System", "Arrays"), Kind.MISC),
    "Math": Kind.MATH,
    "Util": Kind.UTIL,
}
PARAMS = "params"
#: Names that are never params.
STATIC_NAMES = frozenset(TYPES) | frozenset(_HOLDERS)

_METHODS: dict[Kind, Methods] = {
    Kind.STRING: strings.METHODS,
    Kind.LONG: numbers.LONG,
    Kind.DOUBLE: numbers.DOUBLE,
    Kind.MATH: numbers.MATH,
    Kind.MAP: collections.MAP,
    Kind.PARAMS: collections.PARAMS,
    Kind.MISC: collections.MISC,
    Kind.UUID: collections.UUID,
    Kind.UTIL: util.METHODS,
    Kind.DATETIME: dates.DATETIME,
    Kind.DATETIME_ZONE: dates.ZONE,
    Kind.DATETIME_FORMATTER: dates.FORMATTER,
    Kind.DATETIME_PROPERTY: dates.PROPERTY,
    Kind.DATETIME_DAYS: dates.DAYS,
}
_SUNDAY = 7


def static_object(meter: Meter, name: str) -> Value | None:
    """The value behind the name of a class: static methods are called on it."""
    if name in TYPES:
        return empty(meter, TYPES[name])
    if name in _HOLDERS:
        return Opaque(meter, _HOLDERS[name], None)
    return Opaque(meter, Kind.PARAMS, None) if name == PARAMS else None


def type_named(name: str) -> Kind:
    """The type that a name stands for."""
    if name in TYPES:
        return TYPES[name]
    near = difflib.get_close_matches(name, TYPES, 1)
    raise unknown_name(
        f"there is no type {name[:40]}" + (f"; did you mean {near[0]}?" if near else ""),
        "The types are " + ", ".join(sorted(TYPES)) + ".",
    )


def call(run: Runtime, receiver: Value, name: str, args: list[Value]) -> Value:
    """`receiver.name(args)`."""
    methods = _METHODS.get(receiver.kind, {})
    if receiver.kind is Kind.PARAMS and (name, len(args)) not in methods:
        return collections.call_function(run, name, args)
    return find(methods, receiver.kind, name, len(args))(run, receiver, args)


def get_field(run: Runtime, receiver: Value, name: str) -> Value:
    """`receiver.name`."""
    if receiver.kind in ELEMENT_OF and name == "length":
        return Long(run.meter, len(receiver.value))
    if receiver.kind is Kind.PARAMS:
        return collections.param(run, name)
    if receiver.kind is Kind.DATETIME_ZONE and name == "UTC":
        return Opaque(run.meter, Kind.DATETIME_ZONE, UTC)
    if receiver.kind is Kind.MISC and name == "SUNDAY":
        return Long(run.meter, _SUNDAY)
    raise unknown_name(f"{receiver.kind.value} has no field {name[:40]}", "Methods need parentheses.")


def construct(run: Runtime, kind: Kind, args: list[Value]) -> Value:
    """`new Type(args)`."""
    if kind is Kind.DATETIME:
        return dates.new_date(run, args)
    if kind is Kind.MAP and not args:
        return MapValue(run.meter, {})
    if kind is Kind.STRING and not args:
        return Text(run.meter, "")
    if len(args) == 1:
        if kind is Kind.STRING:
            null = args[0].kind is Kind.STRING and args[0].value is None
            return Text(run.meter, None if null else read.text_or_long(args[0]))
        if kind is Kind.LONG:
            return Long(run.meter, read.long_or_text(args[0]))
        if kind is Kind.DOUBLE:
            return Double(run.meter, numbers.new_double(args[0]))
        if kind is Kind.BOOLEAN:
            return Boolean(run.meter, numbers.new_boolean(args[0]))
    raise type_error(f"new {kind.value} with {len(args)} arguments is not possible")
