"""Methods of strings, and of the class `String`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from calve.workflow.sel import arguments as read
from calve.workflow.sel.errors import value_error
from calve.workflow.sel.limits import Meter
from calve.workflow.sel.methods.format import format_text
from calve.workflow.sel.methods.table import ANY, Methods
from calve.workflow.sel.printing import plain_text, value_text
from calve.workflow.sel.regex import engine as regex
from calve.workflow.sel.runtime import Runtime
from calve.workflow.sel.values import ELEMENT_OF, Array, Boolean, Kind, Long, Text, Value, check_same

_SPACE = "".join(map(chr, range(33)))
_ESCAPES = (
    ("\\", "\\\\"),
    ("\t", "\\t"),
    ("\b", "\\b"),
    ("\n", "\\n"),
    ("\r", "\\r"),
    ("\f", "\\f"),
    ('"', '\\"'),
)


def _array(meter: Meter, parts: list[str]) -> Array:
    return Array(meter, Kind.STRING_ARRAY, [Text(meter, part) for part in parts])


def _split(run: Runtime, value: Value, args: list[Value]) -> Value:
    limit = read.integer(args[1]) if len(args) > 1 else 0
    return _array(run.meter, regex.split(run.meter, read.text(args[0]), read.text(value), limit))


def _replace(run: Runtime, value: Value, args: list[Value]) -> Value:
    text, old, new = read.text(value), read.text(args[0]), read.text(args[1])
    run.meter.charge_text(len(text))
    found = text.count(old)
    run.meter.charge_text(max(0, found * (len(new) - len(old))))
    return Text(run.meter, text.replace(old, new))


def _replace_all(run: Runtime, value: Value, args: list[Value]) -> Value:
    made = regex.replace_all(run.meter, read.text(args[0]), read.text(args[1]), read.text(value))
    return Text(run.meter, made)


def _substring(run: Runtime, value: Value, args: list[Value]) -> Value:
    text = read.text(value)
    start = read.integer(args[0])
    end = read.integer(args[1]) if len(args) > 1 else len(text)
    if not 0 <= start <= end <= len(text):
        raise value_error(f"substring({start}, {end}) is outside a string of length {len(text)}")
    return Text(run.meter, text[start:end])


def _compare(run: Runtime, value: Value, args: list[Value]) -> Value:
    left, right = read.text(value), read.text(args[0])
    run.meter.visit(min(len(left), len(right)) >> 4)
    for one, other in zip(left, right, strict=False):
        if one != other:
            return Long(run.meter, ord(one) - ord(other))
    return Long(run.meter, len(left) - len(right))


def _equals(run: Runtime, value: Value, args: list[Value]) -> Value:
    same = args[0].kind is Kind.STRING and read.text(value) == args[0].value
    return Boolean(run.meter, same)


def _value_of(run: Runtime, value: Value, args: list[Value]) -> Value:
    if value.value is not None:
        raise value_error("valueOf belongs to the class: write String.valueOf(…)")
    return Text(run.meter, value_text(run.meter, args[0]))


def _format(run: Runtime, _value: Value, args: list[Value]) -> Value:
    pattern, *rest = _at_least_one(args)
    items = [_format_argument(run.meter, item) for item in rest]
    return Text(run.meter, format_text(run.meter, read.text(pattern), items))


def _format_argument(meter: Meter, value: Value) -> Any:
    scalar = value.kind in (Kind.STRING, Kind.LONG, Kind.DOUBLE, Kind.BOOLEAN, Kind.NULL)
    return value.value if scalar else value_text(meter, value)


def _join(run: Runtime, _value: Value, args: list[Value]) -> Value:
    separator, *rest = _at_least_one(args)
    if len(rest) == 1 and rest[0].kind in ELEMENT_OF:
        check_same(Kind.STRING_ARRAY, rest[0].kind)
        rest = rest[0].value
    for item in rest:
        check_same(Kind.STRING, item.kind)
    parts = [plain_text(item.value) for item in rest]
    between = read.text(separator)
    run.meter.charge_text(sum(map(len, parts)) + len(between) * len(parts))
    return Text(run.meter, between.join(parts))


def _at_least_one(args: list[Value]) -> list[Value]:
    if not args:
        raise value_error("at least one argument is needed")
    return args


def _escape(run: Runtime, value: Value, args: list[Value]) -> Value:
    text = read.text(args[0] if args else value)
    run.meter.charge_text(2 * len(text))
    for plain, escaped in _ESCAPES:
        text = text.replace(plain, escaped)
    return Text(run.meter, text)


def _to_text(change: Callable[[str], str]) -> Callable[[Runtime, Value, list[Value]], Value]:
    return lambda run, value, _: Text(run.meter, change(read.text(value)))


def _test(holds: Callable[[str, str], bool]) -> Callable[[Runtime, Value, list[Value]], Value]:
    return lambda run, value, args: Boolean(run.meter, holds(read.text(value), read.text(args[0])))


METHODS: Methods = {
    ("split", 1): _split,
    ("split", 2): _split,
    ("toUpperCase", 0): _to_text(str.upper),
    ("toLowerCase", 0): _to_text(str.lower),
    ("trim", 0): _to_text(lambda text: text.strip(_SPACE)),
    ("replace", 2): _replace,
    ("replaceAll", 2): _replace_all,
    ("startsWith", 1): _test(str.startswith),
    ("endsWith", 1): _test(str.endswith),
    ("contains", 1): _test(str.__contains__),
    ("substring", 1): _substring,
    ("substring", 2): _substring,
    ("lastIndexOf", 1): lambda run, value, args: Long(run.meter, read.text(value).rfind(read.text(args[0]))),
    ("length", 0): lambda run, value, _: Long(run.meter, len(read.text(value))),
    ("isEmpty", 0): lambda run, value, _: Boolean(run.meter, not read.text(value)),
    ("equals", 1): _equals,
    ("compareTo", 1): _compare,
    ("valueOf", 1): _value_of,
    ("format", ANY): _format,
    ("join", ANY): _join,
    ("escape", 0): _escape,
    ("escape", 1): _escape,
}
