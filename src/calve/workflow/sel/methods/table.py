"""The tables of methods, joined, and the one way to call a method."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping

from calve.workflow.sel.errors import SelError, unknown_name
from calve.workflow.sel.runtime import Runtime
from calve.workflow.sel.values import Kind, Value

Method = Callable[[Runtime, Value, list[Value]], Value]
#: A method by its name and the number of its arguments; -1 stands for any number.
Methods = Mapping[tuple[str, int], Method]
ANY = -1


def find(methods: Methods, kind: Kind, name: str, count: int) -> Method:
    """The method to call; SEL_UNKNOWN_NAME, with a guess, if there is none."""
    found = methods.get((name, count)) or methods.get((name, ANY))
    if found is not None:
        return found
    raise _unknown_method(methods, kind, name, count)


def _unknown_method(methods: Methods, kind: Kind, name: str, count: int) -> SelError:
    counts = sorted(arity for known, arity in methods if known == name)
    if counts:
        expected = " or ".join(map(str, counts))
        return unknown_name(f"{kind.value}.{name} takes {expected} arguments, found {count}")
    near = difflib.get_close_matches(name, {known for known, _ in methods}, 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return unknown_name(f"{kind.value} has no method {name}{hint}")
