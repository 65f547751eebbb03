"""The two things that are done with an expression: evaluate it, and ask which params it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from calve.workflow.sel import ast
from calve.workflow.sel.boxing import unbox
from calve.workflow.sel.classes import STATIC_NAMES
from calve.workflow.sel.errors import SelError, limit_error, type_error
from calve.workflow.sel.evaluator import Evaluator
from calve.workflow.sel.limits import Limits, Meter
from calve.workflow.sel.memo import SCALARS, Memo, memo_key
from calve.workflow.sel.parser import parse
from calve.workflow.sel.runtime import Functions, Host, Runtime
from calve.workflow.sel.values import ARRAY_OF, ELEMENT_OF, Kind

_RESULTS = frozenset(ARRAY_OF) | frozenset(ELEMENT_OF) | {Kind.MAP}
_DEFAULTS = Limits()
_HOST = Host()


@dataclass(frozen=True, slots=True)
class Result:
    """What an expression gave: the name of its type, and a plain value."""

    type: str
    value: Any


def evaluate(
    text: str,
    params: Mapping[str, Any] | None = None,
    *,
    functions: Functions | None = None,
    limits: Limits = _DEFAULTS,
    host: Host = _HOST,
) -> Result:
    """Evaluate an expression over plain params, within the limits; whatever goes wrong is a SelError."""
    key = memo_key(text, params or {}, limits)
    if key is None:
        return _evaluate(text, params, functions, limits, host)
    known = _known.get(key)
    if known is None:
        known = _evaluate(text, params, functions, limits, host)
        if isinstance(known.value, SCALARS):
            _known.put(key, known)
    return known


_known: Memo[Result] = Memo()


def _evaluate(
    text: str, params: Mapping[str, Any] | None, functions: Functions | None, limits: Limits, host: Host
) -> Result:
    meter = Meter(limits)
    program = _checked(text, limits)
    run = Runtime(meter, {} if params is None else params, functions, host)
    try:
        value = Evaluator(run).program(program)
        if value.kind not in _RESULTS:
            raise type_error(
                f"the expression gives {value.kind.value}, which is not a value that a param can have",
                "End it with the value, or with: return value;",
            )
        return Result(value.kind.value, unbox(meter, value))
    except RecursionError:
        raise limit_error("the expression is nested too deep") from None


def referenced_names(text: str, limits: Limits = _DEFAULTS) -> frozenset[str]:
    """The names an expression takes from outside: read before they are assigned, and no class.

    `params` is among them if the expression mentions it.
    """
    return _names(_checked(text, limits))


def _checked(text: str, limits: Limits) -> ast.Program:
    if len(text) >= limits.length:
        raise limit_error(f"the expression has {len(text)} characters, and the limit is {limits.length}")
    try:
        program = parse(text)
    except RecursionError:
        raise limit_error("the expression is nested too deep") from None
    if program.height > limits.nesting:
        raise limit_error(
            f"the expression is nested {program.height} deep, and the limit is {limits.nesting}"
        )
    return program


@lru_cache(maxsize=1024)
def _names(program: ast.Program) -> frozenset[str]:
    first_use: dict[str, bool] = {}
    waiting: list[ast.Node] = [program]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            first_use.setdefault(node.name, True)
        elif isinstance(node, ast.Assign | ast.Declarator):
            first_use.setdefault(node.name, False)
        waiting.extend(reversed(list(node.children())))
    return frozenset(name for name, is_read in first_use.items() if is_read and name not in STATIC_NAMES)


__all__ = ["Result", "SelError", "evaluate", "referenced_names"]
