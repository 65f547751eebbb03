from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from calve.errors import NotFoundError
from calve.workflow.sel import SelError, evaluate
from calve.workflow.sel.classes import TYPES

DUNDERS = (
    "__class__",
    "__dict__",
    "__init__",
    "__globals__",
    "__mro__",
    "__subclasses__",
    "__import__",
    "value",
)
VALUES = {"s": "text", "n": 1, "d": 1.5, "b": True, "xs": [1, 2], "m": {"k": "v"}}


@pytest.mark.parametrize(
    "name", [*VALUES, "String", "Util", "Math", "System", "new DateTime(0)", "DateTimeZone.UTC"]
)
@pytest.mark.parametrize("attribute", DUNDERS)
def test_no_attribute_of_a_python_object_is_reachable(name: str, attribute: str) -> None:
    for text in (f"{name}.{attribute}", f"{name}.{attribute}()", f"{name}['{attribute}']"):
        with pytest.raises(SelError):
            evaluate(text, VALUES)


@pytest.mark.parametrize("attribute", DUNDERS)
def test_params_give_params_and_nothing_else(attribute: str) -> None:
    assert evaluate(f"params.{attribute} == null", VALUES).value is True
    with pytest.raises(SelError):
        evaluate(f"params.{attribute}()", VALUES)


@pytest.mark.parametrize(
    "text",
    [
        "s.getClass()",
        "s.getClass().forName('java.lang.Runtime')",
        "Runtime.getRuntime().exec('id')",
        "System.exit(0)",
        "System.getenv('HOME')",
        "System.getProperty('user.home')",
        "Class.forName('x')",
        "new ProcessBuilder('id')",
        "new Thread()",
        "import os; os.system('id')",
        "__import__('os')",
        "eval('1')",
        "lambda: 1",
        "DateTimeZone.forID('../../etc/passwd')",
        "DateTimeZone.forID('/etc/passwd')",
        "DateTimeZone.forID('America')",
        "DateTimeZone.forID('tzdata.zi')",
        "DateTimeZone.forID('')",
        "String.format('{0.__class__}', s).substring(100)",
        "String.format('%(x)s', s)",
        "String.format('%1$tY', n)",
        "String.format('%999999999999d', n)",
        "s.format('%s')",
        "s.encode('utf-8')",
        "s.join('a', n)",
        "xs.append(1)",
        "xs.pop()",
        "m.clear()",
        "m.items()",
        "xs[n.__index__()]",
        "new String[]{xs}",
        "ｓ.length()",
        "s.ｌength()",
        "ﬁ.x()",
    ],
)
def test_ways_out_are_errors(text: str) -> None:
    with pytest.raises(SelError):
        evaluate(text, VALUES)


def test_format_strings_of_python_are_plain_text() -> None:
    assert evaluate("String.format('{0.__class__} {} %s', s)", VALUES).value == "{0.__class__} {} text"


def test_large_numbers_stay_small() -> None:
    assert evaluate("Math.pow(10, 100000)").value == float("inf")
    assert evaluate("x = 9223372036854775807; for (i = 0; i < 1000; i += 1) x *= x; x").value == 1
    with pytest.raises(SelError):
        evaluate("9" * 5000)
    with pytest.raises(SelError):
        evaluate("Long.valueOf('" + "9" * 5000 + "')")


def test_a_value_of_a_foreign_type_cannot_enter() -> None:
    for foreign in (
        object(),
        b"bytes",
        {1: 2},
        [[1]],
        [{"a": 1}],
        lambda: 1,
        {"a": object()},
        2**70,
        [1, "a"],
    ):
        with pytest.raises(SelError):
            evaluate("x", {"x": foreign})


def test_params_are_copied_on_the_way_in() -> None:
    given: dict[str, Any] = {"xs": [1, 2], "m": {"k": "v"}}
    evaluate("xs[0] = 9; m.put('k', 'w'); m.put('q', 1); 0", given)
    assert given == {"xs": [1, 2], "m": {"k": "v"}}


def test_every_declared_type_starts_harmless() -> None:
    for name in TYPES:
        if name[0].isupper():
            with pytest.raises(SelError):
                evaluate(f"{name} q; q.__class__")


class Answers:
    def call(self, name: str, arguments: Sequence[str]) -> object:
        if name == "getFromStep":
            return [*arguments]
        if name == "leak":
            return object()
        raise NotFoundError("NOTHING", f"no {name}", "Ask for something else.")


def test_functions_get_strings_and_give_plain_values() -> None:
    assert evaluate("params.getFromStep('a', 'b')", functions=Answers()).value == ["a", "b"]
    for text, code in (
        ("params.getFromStep(1)", "SEL_TYPE"),
        ("params.leak()", "SEL_TYPE"),
        ("params.other()", "SEL_FUNCTION"),
    ):
        with pytest.raises(SelError) as caught:
            evaluate(text, functions=Answers())
        assert caught.value.code == code
