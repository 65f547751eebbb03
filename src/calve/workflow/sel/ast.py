"""The syntax tree of SEL: small immutable nodes, each with its place in the text.

`height` is how deep an evaluation recurses below a node; `children` is the order in which names are met.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

Position = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """Any part of a program."""

    position: Position
    height: int = field(init=False, default=1)

    def __post_init__(self) -> None:
        object.__setattr__(self, "height", 1 + max((child.height for child in self.children()), default=0))

    def children(self) -> Iterator[Node]:
        """The nodes directly below, in the order of the text."""
        return iter(())


@dataclass(frozen=True, slots=True, eq=False)
class Literal(Node):
    """A constant; None is `null`."""

    value: str | int | float | bool | None


@dataclass(frozen=True, slots=True, eq=False)
class Name(Node):
    """A variable, a param or a class."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Index(Node):
    """`[…]` after something."""

    index: Node

    def children(self) -> Iterator[Node]:
        """The index."""
        yield self.index


@dataclass(frozen=True, slots=True, eq=False)
class Field(Node):
    """`.name` after something."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Call(Node):
    """`.name(…)` after something."""

    name: str
    arguments: tuple[Node, ...]

    def children(self) -> Iterator[Node]:
        """The arguments."""
        return iter(self.arguments)


@dataclass(frozen=True, slots=True, eq=False)
class Suffixed(Node):
    """Something with suffixes; with none of them it is something in parentheses."""

    base: Node
    suffixes: tuple[Index | Field | Call, ...]

    def children(self) -> Iterator[Node]:
        """The base, then the suffixes."""
        yield self.base
        yield from self.suffixes


@dataclass(frozen=True, slots=True, eq=False)
class NewObject(Node):
    """`new Type(…)`."""

    type_name: str
    arguments: tuple[Node, ...]

    def children(self) -> Iterator[Node]:
        """The arguments."""
        return iter(self.arguments)


@dataclass(frozen=True, slots=True, eq=False)
class NewArray(Node):
    """`new type[size]`."""

    type_name: str
    size: Node

    def children(self) -> Iterator[Node]:
        """The size."""
        yield self.size


@dataclass(frozen=True, slots=True, eq=False)
class ArrayLiteral(Node):
    """`new type[]{…}`."""

    type_name: str
    items: tuple[Node, ...]

    def children(self) -> Iterator[Node]:
        """The elements."""
        return iter(self.items)


@dataclass(frozen=True, slots=True, eq=False)
class Prefix(Node):
    """`-x`, `+x`, `!x`."""

    operator: str
    operand: Node

    def children(self) -> Iterator[Node]:
        """The operand."""
        yield self.operand


@dataclass(frozen=True, slots=True, eq=False)
class Chain(Node):
    """`a op b op c`, left to right: flat, so that a long sum is not a deep tree."""

    first: Node
    rest: tuple[tuple[str, Node, Position], ...]

    def children(self) -> Iterator[Node]:
        """The operands."""
        yield self.first
        for _, operand, _ in self.rest:
            yield operand


@dataclass(frozen=True, slots=True, eq=False)
class Conditional(Node):
    """`condition ? yes : no`; evaluating a branch does not recurse, so a chain of them is not deep."""

    condition: Node
    yes: Node
    no: Node

    def __post_init__(self) -> None:
        tallest = max(self.condition.height + 1, self.yes.height, self.no.height)
        object.__setattr__(self, "height", tallest)

    def children(self) -> Iterator[Node]:
        """The condition and the branches."""
        return iter((self.condition, self.yes, self.no))


@dataclass(frozen=True, slots=True, eq=False)
class Assign(Node):
    """`name op value` or `name[index] op value`."""

    name: str
    index: Node | None
    operator: str
    value: Node

    def children(self) -> Iterator[Node]:
        """The index, if any, and the value."""
        if self.index is not None:
            yield self.index
        yield self.value


@dataclass(frozen=True, slots=True, eq=False)
class Declarator(Node):
    """`name` or `name = value` in a declaration."""

    name: str
    value: Node | None

    def children(self) -> Iterator[Node]:
        """The value, if any."""
        if self.value is not None:
            yield self.value


@dataclass(frozen=True, slots=True, eq=False)
class Declaration(Node):
    """`type name = value, …`."""

    type_name: str
    is_array: bool
    declarators: tuple[Declarator, ...]

    def children(self) -> Iterator[Node]:
        """The declared variables."""
        return iter(self.declarators)


@dataclass(frozen=True, slots=True, eq=False)
class ExpressionStatement(Node):
    """An expression and a semicolon."""

    expression: Node

    def children(self) -> Iterator[Node]:
        """The expression."""
        yield self.expression


@dataclass(frozen=True, slots=True, eq=False)
class Block(Node):
    """`{ … }`."""

    statements: tuple[Node, ...]

    def children(self) -> Iterator[Node]:
        """The statements."""
        return iter(self.statements)


@dataclass(frozen=True, slots=True, eq=False)
class If(Node):
    """`if (…) … else …`; running a branch does not recurse, so a chain of else-ifs is not deep."""

    condition: Node
    yes: Node
    no: Node | None

    def __post_init__(self) -> None:
        branches = (self.yes.height, 0 if self.no is None else self.no.height)
        object.__setattr__(self, "height", max(self.condition.height + 1, *branches))

    def children(self) -> Iterator[Node]:
        """The condition and the branches."""
        yield self.condition
        yield self.yes
        if self.no is not None:
            yield self.no


@dataclass(frozen=True, slots=True, eq=False)
class Loop(Node):
    """`while (…) …` and `for (…; …; …) …`."""

    start: Node | None
    condition: Node | None
    update: Node | None
    body: Node

    def children(self) -> Iterator[Node]:
        """What there is, in the order of the text."""
        for part in (self.start, self.condition, self.update, self.body):
            if part is not None:
                yield part


@dataclass(frozen=True, slots=True, eq=False)
class Jump(Node):
    """`break` (or `continue`, if not `breaks`)."""

    breaks: bool


@dataclass(frozen=True, slots=True, eq=False)
class Return(Node):
    """`return expression`."""

    value: Node

    def children(self) -> Iterator[Node]:
        """The value."""
        yield self.value


@dataclass(frozen=True, slots=True, eq=False)
class Throw(Node):
    """`throw expression`."""

    message: Node

    def children(self) -> Iterator[Node]:
        """The message."""
        yield self.message


@dataclass(frozen=True, slots=True, eq=False)
class Program(Node):
    """A whole expression."""

    statements: tuple[Node, ...]

    def children(self) -> Iterator[Node]:
        """The statements."""
        return iter(self.statements)
