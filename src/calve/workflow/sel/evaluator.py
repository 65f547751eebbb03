"""The evaluation of a program: a walk over its tree, with every node counted."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, ParamSpec, TypeVar

from calve.workflow.sel import ast, classes, operators
from calve.workflow.sel.boxing import box
from calve.workflow.sel.errors import SelError, limit_error, type_error, unknown_name, value_error
from calve.workflow.sel.methods.collections import param
from calve.workflow.sel.runtime import Runtime
from calve.workflow.sel.values import (
    ARRAY_OF,
    ELEMENT_OF,
    NULL,
    VOID,
    Array,
    Kind,
    Long,
    Value,
    check_same,
    empty,
    empty_array,
    wrap_int,
)

P = ParamSpec("P")
T = TypeVar("T")


class Flow(Enum):
    """How a statement ended."""

    NONE = 0
    DATA = 1
    RETURN = 2
    BREAK = 3
    CONTINUE = 4


class Evaluator:
    """One evaluation. Variables are one flat table: a block opens no scope."""

    def __init__(self, run: Runtime) -> None:
        self.run = run
        self.meter = run.meter
        self.variables: dict[str, Value] = {}
        self.literals: dict[int, Value] = {}
        #: The value of the last statement that had one.
        self.last: Value = VOID

    def program(self, program: ast.Program) -> Value:
        """The result: what is returned, or else the value of the last statement."""
        flow = Flow.NONE
        for statement in program.statements:
            flow = self._statement(statement)
            if flow is Flow.RETURN:
                return self.last
        if flow in (Flow.BREAK, Flow.CONTINUE):
            raise type_error("break and continue belong into a loop").at(program.statements[-1].position)
        return self.last if flow is Flow.DATA else VOID

    # Statements

    def _statement(self, node: ast.Node) -> Flow:
        """Run a statement."""
        while isinstance(node, ast.If):
            self.meter.visit()
            branch = node.yes if self._condition(node.condition) else node.no
            if branch is None:
                return Flow.NONE
            if not isinstance(branch, ast.If):
                flow = self._statement(branch)
                # The value of a branch is not the value of the whole.
                return Flow.NONE if flow is Flow.DATA else flow
            node = branch
        self.meter.visit()
        return _STATEMENTS[type(node)](self, node)

    def _expression_statement(self, node: ast.ExpressionStatement) -> Flow:
        self.last = self._value(node.expression, 0)
        return Flow.DATA

    def _block(self, node: ast.Block) -> Flow:
        flow = Flow.NONE
        for statement in node.statements:
            flow = self._statement(statement)
            if flow not in (Flow.NONE, Flow.DATA):
                return flow
        return flow

    def _declaration(self, node: ast.Declaration) -> Flow:
        kind = _at(node.position, classes.type_named, node.type_name)
        if node.is_array:
            if kind not in ARRAY_OF:
                raise type_error(f"there are no arrays of {kind.value}").at(node.position)
            kind = ARRAY_OF[kind]
        for declarator in node.declarators:
            self.meter.visit()
            if declarator.value is None:
                self.variables[declarator.name] = empty(self.meter, kind)
                continue
            value = self._value(declarator.value, 1)
            _at(declarator.position, check_same, kind, value.kind)
            self.variables[declarator.name] = value
        return Flow.NONE

    def _loop(self, node: ast.Loop) -> Flow:
        if isinstance(node.start, ast.Declaration):
            self._declaration(node.start)
        elif node.start is not None:
            self._value(node.start, 0)
        turns = 0
        while node.condition is None or self._condition(node.condition):
            flow = self._statement(node.body)
            if flow is Flow.RETURN:
                return flow
            if flow is Flow.BREAK:
                break
            if node.update is not None:
                self._value(node.update, 0)
            turns += 1
            if turns >= self.meter.limits.loop:
                raise limit_error(f"a loop made {turns} turns, and must stay below that").at(node.position)
        return Flow.NONE

    def _jump(self, node: ast.Jump) -> Flow:
        return Flow.BREAK if node.breaks else Flow.CONTINUE

    def _return_(self, node: ast.Return) -> Flow:
        self.last = self._value(node.value, 0)
        return Flow.RETURN

    def _throw(self, node: ast.Throw) -> Flow:
        message = self._value(node.message, 0)
        _at(node.position, check_same, Kind.STRING, message.kind)
        raise SelError(
            "SEL_THROWN",
            f"the expression threw: {message.value}",
            "The author of the expression wrote this message.",
        ).at(node.position)

    def _condition(self, node: ast.Node) -> bool:
        """The truth of a condition, which must be a boolean."""
        found = self._value(node, 0)
        _at(node.position, check_same, Kind.BOOLEAN, found.kind)
        return bool(found.value)

    # Expressions. `depth` is how many values wait below for their operator.

    def _value(self, node: ast.Node, depth: int) -> Value:
        """The value of an expression."""
        while isinstance(node, ast.Conditional):
            self.meter.visit()
            chosen = self._value(node.condition, depth)
            _at(node.position, check_same, Kind.BOOLEAN, chosen.kind)
            node = node.yes if chosen.value else node.no
        if depth >= self.meter.limits.stack:
            raise limit_error(f"more than {self.meter.limits.stack} values wait for an operator").at(
                node.position
            )
        self.meter.visit()
        return _EXPRESSIONS[type(node)](self, node, depth)

    def _literal(self, node: ast.Literal, _depth: int) -> Value:
        # One box for the whole evaluation: a variable that is declared with a literal shares it.
        found = self.literals.get(id(node))
        if found is None:
            found = self.literals[id(node)] = box(self.meter, node.value)
        return found

    def _name(self, node: ast.Name, _depth: int) -> Value:
        return self._variable(node.name) or NULL

    def _variable(self, name: str) -> Value | None:
        """A variable, a class or a param; a param becomes a variable when it is first used."""
        found = self.variables.get(name)
        if found is None:
            found = classes.static_object(self.meter, name)
            if found is None and name in self.run.params:
                found = param(self.run, name)
            if found is not None:
                self.variables[name] = found
        return found

    def _suffixed(self, node: ast.Suffixed, depth: int) -> Value:
        found = self._value(node.base, depth)
        if found is NULL and isinstance(node.base, ast.Name) and node.suffixes:
            raise unknown_name(
                f"'{node.base.name}' is not a variable, a param or a class", "Check the name; case counts."
            ).at(node.base.position)
        for suffix in node.suffixes:
            self.meter.visit()
            if isinstance(suffix, ast.Call):
                arguments = self._arguments(suffix.arguments, depth + 2)
                found = _at(suffix.position, classes.call, self.run, found, suffix.name, arguments)
            elif isinstance(suffix, ast.Index):
                found = _at(suffix.position, self._indexed, found, self._value(suffix.index, depth + 1))
            else:
                found = _at(suffix.position, classes.get_field, self.run, found, suffix.name)
        return found

    def _arguments(self, nodes: tuple[ast.Node, ...], depth: int) -> list[Value]:
        return [self._value(node, depth + index) for index, node in enumerate(nodes)]

    def _indexed(self, value: Value, index: Value) -> Value:
        if index.kind is Kind.STRING and value.kind is Kind.PARAMS:
            return param(self.run, index.value)
        if index.kind is Kind.STRING:
            raise type_error(f"{value.kind.value} has no elements by name", "Use get: m.get('key').")
        check_same(Kind.LONG, index.kind)
        return _element(value, index)

    def _new_object(self, node: ast.NewObject, depth: int) -> Value:
        kind = _at(node.position, classes.type_named, node.type_name)
        arguments = self._arguments(node.arguments, depth + 1)
        return _at(node.position, classes.construct, self.run, kind, arguments)

    def _new_array(self, node: ast.NewArray, depth: int) -> Value:
        kind = _at(node.position, classes.type_named, node.type_name)
        size = self._value(node.size, depth + 1)
        _at(node.position, check_same, Kind.LONG, size.kind)
        length = self._checked_length(wrap_int(size.value), node)
        return _at(node.position, empty_array, self.meter, kind, length)

    def _array_literal(self, node: ast.ArrayLiteral, depth: int) -> Value:
        kind = _at(node.position, classes.type_named, node.type_name)
        self._checked_length(len(node.items), node)
        items = self._arguments(node.items, depth + 1)
        array = _at(node.position, empty_array, self.meter, kind, len(items))
        for target, item, source in zip(array.value, items, node.items, strict=True):
            _at(source.position, operators.assign, self.meter, "=", target, item)
        return array

    def _checked_length(self, length: int, node: ast.Node) -> int:
        if length >= self.meter.limits.array:
            raise limit_error(
                f"an array of {length} elements, and the limit is {self.meter.limits.array}"
            ).at(node.position)
        if length < 0:
            raise value_error(f"an array cannot have {length} elements").at(node.position)
        return length

    def _prefix(self, node: ast.Prefix, depth: int) -> Value:
        operand = self._value(node.operand, depth)
        return _at(node.position, operators.prefix, self.meter, node.operator, operand)

    def _chain(self, node: ast.Chain, depth: int) -> Value:
        left = self._value(node.first, depth)
        for operator, operand, position in node.rest:
            # Both sides are always evaluated, of && and || too.
            right = self._value(operand, depth + 1)
            left = _at(position, operators.binary, self.meter, operator, left, right)
        return left

    def _assign(self, node: ast.Assign, depth: int) -> Value:
        if node.index is not None:
            index = self._value(node.index, depth)
            value = self._value(node.value, depth + 1)
            _at(node.position, check_same, Kind.LONG, index.kind)
            target = _at(node.position, _element, self._variable(node.name) or NULL, index)
        else:
            value = self._value(node.value, depth)
            target = self._variable(node.name) or NULL
            if target is NULL and node.operator == "=":
                target = self.variables[node.name] = _at(node.position, empty, self.meter, value.kind)
        _at(node.position, operators.assign, self.meter, node.operator, target, value)
        return target


def _element(array: Value, index: Value) -> Value:
    if array.kind not in ELEMENT_OF:
        raise type_error(f"{array.kind.value} has no elements by number")
    assert isinstance(array, Array)
    assert isinstance(index, Long)
    items: list[Value] = array.value
    number = wrap_int(index.value)
    if not 0 <= number < len(items):
        raise value_error(f"index {number} is outside an array of {len(items)} elements")
    return items[number]


def _at(position: ast.Position, function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """What the function gives; an error of it gets its place in the text."""
    try:
        return function(*arguments, **named)
    except SelError as error:
        raise error.at(position) from error.__cause__


_STATEMENTS: dict[type[ast.Node], Callable[[Evaluator, Any], Flow]] = {
    ast.ExpressionStatement: Evaluator._expression_statement,
    ast.Block: Evaluator._block,
    ast.Declaration: Evaluator._declaration,
    ast.Loop: Evaluator._loop,
    ast.Jump: Evaluator._jump,
    ast.Return: Evaluator._return_,
    ast.Throw: Evaluator._throw,
}
_EXPRESSIONS: dict[type[ast.Node], Callable[[Evaluator, Any, int], Value]] = {
    ast.Literal: Evaluator._literal,
    ast.Name: Evaluator._name,
    ast.Suffixed: Evaluator._suffixed,
    ast.NewObject: Evaluator._new_object,
    ast.NewArray: Evaluator._new_array,
    ast.ArrayLiteral: Evaluator._array_literal,
    ast.Prefix: Evaluator._prefix,
    ast.Chain: Evaluator._chain,
    ast.Assign: Evaluator._assign,
}
