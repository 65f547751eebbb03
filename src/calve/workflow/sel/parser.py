"""From text to syntax tree. A parsed text is kept, because definitions are evaluated again and again."""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import resources
from typing import Any

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from calve.workflow.sel import ast, literals
from calve.workflow.sel.errors import SelError, syntax_error

_KEPT_PROGRAMS = 1024
_END = "unexpected end"
_WORDS = {"_SEMI": "';'", "IDENT": "a name", "LPAR": "'('", "RPAR": "')'", "$END": "the end", "DIMS": "'[]'"}


@lru_cache(maxsize=_KEPT_PROGRAMS)
def parse(text: str) -> ast.Program:
    """The program that `text` is; SEL_SYNTAX with line and column if it is none."""
    source = _terminated(literals.decode_unicode_escapes(text))
    try:
        # The transformer makes nodes of the tree while it is read, which the types of lark do not say.
        program: Any = _parser().parse(source)
    except UnexpectedInput as error:
        raise _syntax_error(error) from None
    made: ast.Program = program
    return made


def _terminated(text: str) -> str:
    """The text with the last semicolon added if it is missing; a block needs none."""
    source = text.strip("".join(map(chr, range(33))))
    if not source or source.endswith(";") or (source.endswith("}") and not source.startswith('{"')):
        return source
    return source + ";"


@cache
def _parser() -> Lark:
    grammar = resources.files("calve.workflow.sel").joinpath("grammar.lark").read_text("utf-8")
    return Lark(grammar, parser="lalr", lexer="contextual", transformer=_Builder(), maybe_placeholders=True)


def _syntax_error(error: UnexpectedInput) -> SelError:
    if isinstance(error, UnexpectedCharacters):
        found = f"unexpected character {error.char!r}"
        expected = error.allowed or set()
    elif isinstance(error, UnexpectedToken):
        found = _END if error.token.type == "$END" else f"unexpected '{_short(error.token)}'"
        expected = error.accepts or error.expected
    else:
        found, expected = "unexpected text", set()
    names = sorted({_WORDS.get(name, name.strip("_").lower()) for name in expected})
    hint = f"; expected {' or '.join(names)}" if 0 < len(names) <= 3 else ""
    place = (max(error.line, 1), max(error.column, 1))
    if found == _END:
        return syntax_error(found + hint, "Is something left open? After a } the last ; must be written.").at(
            place
        )
    return syntax_error(found + hint).at(place)


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:40] + "…"


def _place(token: Token) -> ast.Position:
    return (token.line or 1, token.column or 1)


class _Builder(Transformer[Token, Any]):
    """Makes a node of each rule while the text is parsed, so that no deep tree is ever walked."""

    def start(self, parts: list[Any]) -> ast.Program:
        return ast.Program((1, 1), tuple(part for part in parts if part is not None))

    def import_(self, _parts: list[Any]) -> None:
        """Accepted and ignored: the classes there are, are there."""

    def path(self, parts: list[Any]) -> None:
        """Of no meaning; see import_."""

    def declaration(self, parts: list[Any]) -> ast.Declaration:
        (name, is_array), *declarators = parts
        return ast.Declaration(_place(name), str(name), is_array, tuple(declarators))

    def type(self, parts: list[Any]) -> tuple[Token, bool]:
        return parts[0], len(parts) > 1

    def declarator(self, parts: list[Any]) -> ast.Declarator:
        return ast.Declarator(_place(parts[0]), str(parts[0]), parts[-1] if len(parts) > 1 else None)

    def block(self, parts: list[Any]) -> ast.Block:
        return ast.Block(parts[0].position if parts else (1, 1), tuple(parts))

    def expression_statement(self, parts: list[Any]) -> ast.ExpressionStatement:
        return ast.ExpressionStatement(parts[0].position, parts[0])

    def if_(self, parts: list[Any]) -> ast.If:
        word, condition, yes, no = parts
        return ast.If(_place(word), condition, yes, no)

    def while_(self, parts: list[Any]) -> ast.Loop:
        word, condition, body = parts
        return ast.Loop(_place(word), None, condition, None, body)

    def for_(self, parts: list[Any]) -> ast.Loop:
        word, start, condition, update, body = parts
        return ast.Loop(_place(word), start, condition, update, body)

    def _first(self, parts: list[Any]) -> Any:
        return parts[0]

    for_init = for_condition = for_update = _first

    def break_(self, parts: list[Any]) -> ast.Jump:
        return ast.Jump(_place(parts[0]), True)

    def continue_(self, parts: list[Any]) -> ast.Jump:
        return ast.Jump(_place(parts[0]), False)

    def return_(self, parts: list[Any]) -> ast.Return:
        return ast.Return(_place(parts[0]), parts[1])

    def throw(self, parts: list[Any]) -> ast.Throw:
        return ast.Throw(_place(parts[0]), parts[1])

    def assignment(self, parts: list[Any]) -> ast.Assign:
        target, operator, value = parts
        index = None
        if isinstance(target, ast.Suffixed) and [type(x) for x in target.suffixes] == [ast.Index]:
            index = next(target.suffixes[0].children())
            target = target.base
        if not isinstance(target, ast.Name):
            raise syntax_error("only a variable or an element of an array can be assigned").at(
                _place(operator)
            )
        return ast.Assign(_place(operator), target.name, index, str(operator), value)

    def conditional(self, parts: list[Any]) -> ast.Conditional:
        condition, hook, yes, no = parts
        return ast.Conditional(_place(hook), condition, yes, no)

    def chain(self, parts: list[Any]) -> ast.Chain:
        first, *rest = parts
        links = tuple(
            (str(operator), operand, _place(operator))
            for operator, operand in zip(rest[::2], rest[1::2], strict=True)
        )
        return ast.Chain(first.position, first, links)

    def prefix(self, parts: list[Any]) -> ast.Prefix:
        return ast.Prefix(_place(parts[0]), str(parts[0]), parts[1])

    def suffixed(self, parts: list[Any]) -> ast.Suffixed:
        base, *suffixes = parts
        return ast.Suffixed(base.position, base, tuple(suffixes))

    def paren(self, parts: list[Any]) -> ast.Node:
        inner: ast.Node = parts[0]
        if isinstance(inner, ast.Name) or (isinstance(inner, ast.Suffixed) and inner.suffixes):
            # What stands in parentheses cannot be assigned.
            return ast.Suffixed(inner.position, inner, ())
        return inner

    def name(self, parts: list[Any]) -> ast.Name:
        return ast.Name(_place(parts[0]), str(parts[0]))

    def index(self, parts: list[Any]) -> ast.Index:
        return ast.Index(_place(parts[0]), parts[1])

    def call(self, parts: list[Any]) -> ast.Call:
        return ast.Call(_place(parts[0]), str(parts[0]), parts[1] or ())

    def field(self, parts: list[Any]) -> ast.Field:
        return ast.Field(_place(parts[0]), str(parts[0]))

    def arguments(self, parts: list[Any]) -> tuple[ast.Node, ...]:
        return tuple(parts)

    def new_array(self, parts: list[Any]) -> ast.NewArray:
        return ast.NewArray(_place(parts[0]), str(parts[0]), parts[2])

    def array_literal(self, parts: list[Any]) -> ast.ArrayLiteral:
        return ast.ArrayLiteral(_place(parts[0]), str(parts[0]), tuple(parts[2:]))

    def new_object(self, parts: list[Any]) -> ast.NewObject:
        return ast.NewObject(_place(parts[0]), str(parts[0]), parts[1] or ())

    def literal(self, parts: list[Any]) -> ast.Literal:
        token = parts[0]
        try:
            return ast.Literal(_place(token), _READERS[token.type](token))
        except SelError as error:
            raise error.at(_place(token)) from None


_READERS: dict[str, Any] = {
    "FLOAT": literals.read_float,
    "INTEGER": literals.read_integer,
    "STRING": literals.read_string,
    "TRUE": lambda _: True,
    "FALSE": lambda _: False,
    "NULL": lambda _: None,
}
