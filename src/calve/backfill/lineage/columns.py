"""From which columns of which tables a column of a query is made, as far as the SQL shows it.

What is given is true; what the text leaves open (`*` over a table whose columns are not known, a column that
several tables may have) gives nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, build_scope, walk_in_scope

#: A table by its name in the text, and a column of it.
Origin = tuple[exp.Table, str]
#: The columns of a table in order; None if they are not known.
ColumnsOf = Callable[[exp.Table], Sequence[str] | None]
Source = exp.Expr | Scope


@dataclass(frozen=True, slots=True)
class Output:
    """A column of a result: an expression, or, out of a `*`, a column of a source, or several in a UNION."""

    name: str
    scope: Scope
    expression: exp.Expr | None
    source: Source | None = None
    sides: tuple[Output, ...] = ()


@dataclass(slots=True)
class Tracer:
    """Follows columns through a query and its subqueries."""

    columns_of: ColumnsOf = lambda table: None
    #: Words that are no columns.
    is_word: Callable[[str], bool] = lambda name: False
    # One column after the other asks for the same of the same scopes.
    _known_outputs: dict[Scope, list[Output] | None] = field(default_factory=dict)
    _known_sources: dict[Scope, dict[str, Source]] = field(default_factory=dict)

    def outputs(self, query: exp.Expr) -> list[tuple[str, frozenset[Origin]]] | None:
        """The columns of a query with what each is made from; None if the text does not tell the columns."""
        scope = build_scope(query)
        found = None if scope is None else self._outputs(scope)
        return None if found is None else [(x.name, frozenset(self._origins(x))) for x in found]

    def partial(self, query: exp.Expr) -> list[tuple[str, frozenset[Origin]]]:
        """The columns of a query that have a name in its text, though there may be more."""
        scope = build_scope(query)
        select = None if scope is None else scope.expression
        if scope is None or not isinstance(select, exp.Select):
            return []
        named = [item for item in select.expressions if not item.is_star and item.alias_or_name]
        return [(item.alias_or_name, frozenset(self._origins(Output("", scope, item)))) for item in named]

    # The columns of a result

    def _outputs(self, scope: Scope) -> list[Output] | None:
        if scope not in self._known_outputs:
            self._known_outputs[scope] = self._find_outputs(scope)
        return self._known_outputs[scope]

    def _find_outputs(self, scope: Scope) -> list[Output] | None:
        expression = scope.expression
        if isinstance(expression, exp.SetOperation):
            return self._united(scope)
        if not isinstance(expression, exp.Select):
            return None
        found: list[Output] = []
        for item in expression.expressions:
            if not item.is_star:
                found.append(Output(item.alias_or_name, scope, item))
                continue
            expanded = self._expand(scope, item)
            if expanded is None:
                return None
            found += expanded
        return found

    def _united(self, scope: Scope) -> list[Output] | None:
        sides = [self._outputs(side) for side in scope.set_operation_scopes]
        known = [side for side in sides if side is not None]
        if not sides or sides[0] is None:
            return None
        return [
            Output(output.name, scope, None, None, tuple(side[at] for side in known if at < len(side)))
            for at, output in enumerate(sides[0])
        ]

    def _expand(self, scope: Scope, star: exp.Expr) -> list[Output] | None:
        found: list[Output] = []
        left_out = {x.name.lower() for x in _of_star(star).args.get("except_") or ()}
        starred = self._starred(scope, star)
        if not starred or _of_star(star).args.get("replace") or _of_star(star).args.get("rename"):
            return None
        for source in starred:
            names = self._names(source)
            if names is None:
                return None
            found += [Output(x, scope, None, source) for x in names if x.lower() not in left_out]
        return found

    def _starred(self, scope: Scope, star: exp.Expr) -> list[Source]:
        """The sources whose columns a star stands for, in their order; none where that is not so plain."""
        sources = self._sources(scope)
        if isinstance(star, exp.Column):
            return [source for name, source in sources.items() if name == star.table.lower()]
        return [] if _merges_columns(scope.expression) else list(sources.values())

    def _names(self, source: Source) -> Sequence[str] | None:
        """The columns of a source; None if they are not known."""
        if isinstance(source, Scope):
            renamed = _renamed(source)
            outputs = None if renamed else self._outputs(source)
            return renamed or (None if outputs is None else [output.name for output in outputs])
        return self.columns_of(source) if _is_plain_table(source) else None

    def _sources(self, scope: Scope) -> dict[str, Source]:
        """What a scope selects from, by alias, in the order of the text; nothing if two have one alias."""
        if scope not in self._known_sources:
            selected = {name.lower(): source for name, (_, source) in scope.selected_sources.items()}
            names = [node.alias_or_name.lower() for node in _selected(scope.expression)]
            is_plain = sorted(names) == sorted(selected)
            self._known_sources[scope] = {name: selected[name] for name in names} if is_plain else {}
        return self._known_sources[scope]

    # What a column is made from

    def _origins(self, output: Output) -> Iterator[Origin]:
        if output.source is not None:
            yield from self._named(output.source, output.name)
        elif output.expression is not None:
            yield from self._expression(output.scope, output.expression)
        for side in output.sides:
            yield from self._origins(side)

    def _expression(self, scope: Scope, expression: exp.Expr) -> Iterator[Origin]:
        for node in walk_in_scope(expression):
            if isinstance(node, exp.Column) and not node.is_star:
                yield from self._column(scope, node, expression)
            elif isinstance(node, exp.Query) and node is not expression:
                inner = next((x for x in scope.subquery_scopes if x.expression is node), None)
                for output in () if inner is None else self._outputs(inner) or ():
                    yield from self._origins(output)

    def _column(self, scope: Scope, column: exp.Column, within: exp.Expr) -> Iterator[Origin]:
        parts = [part.name for part in column.parts]
        around: Scope | None = scope
        while around is not None and len(parts) > 1:
            sources = self._sources(around)
            for at in range(len(parts) - 1):
                if parts[at].lower() in sources and _is_qualifier(sources[parts[at].lower()], parts[:at]):
                    yield from self._named(sources[parts[at].lower()], parts[at + 1])
                    return
            around = around.parent if around.is_correlated_subquery else None
        if not self.is_word(parts[0]):
            # With no table of that name before it, what is behind the first dot is a field of a struct.
            yield from self._unqualified(scope, parts[0], within)

    def _unqualified(self, scope: Scope, name: str, within: exp.Expr) -> Iterator[Origin]:
        owners: dict[bool | None, list[Source]] = {True: [], False: [], None: []}
        for source in self._sources(scope).values():
            owners[self._has(source, name)].append(source)
        sure, maybe = owners[True], owners[None]
        # Spark refuses a name that two sources have, so one that has it for sure is the one.
        if len(sure) == 1:
            yield from self._named(sure[0], name)
        elif not sure and len(maybe) == 1 and not _is_earlier_alias(scope, name, within):
            yield from self._named(maybe[0], name)

    def _has(self, source: Source, name: str) -> bool | None:
        """Whether a source has a column; None if that is not known."""
        names = self._names(source)
        if names is not None:
            return name.lower() in (known.lower() for known in names)
        if isinstance(source, Scope) and isinstance(source.expression, exp.Select):
            items = source.expression.expressions
            return True if any(x.alias_or_name.lower() == name.lower() for x in items) else None
        return None

    def _named(self, source: Source, name: str) -> Iterator[Origin]:
        """What a column of a source, by its name, is made from."""
        if isinstance(source, Scope):
            yield from self._named_in_scope(source, name)
        elif _is_plain_table(source) and self._has(source, name) is not False:
            yield source, name

    def _named_in_scope(self, scope: Scope, name: str) -> Iterator[Origin]:
        if scope.is_udtf:
            inner = scope.expression
            if scope.parent is not None and isinstance(inner, exp.Lateral | exp.Explode | exp.Unnest):
                yield from self._expression(scope.parent, inner.this)
            return
        names, outputs = _renamed(scope), self._outputs(scope)
        if names:
            at = next((n for n, known in enumerate(names) if known.lower() == name.lower()), None)
            if at is not None and outputs is not None and at < len(outputs):
                yield from self._origins(outputs[at])
        elif outputs is not None:
            for output in outputs:
                if output.name.lower() == name.lower():
                    yield from self._origins(output)
                    return
        else:
            yield from self._through_star(scope, name)

    def _through_star(self, scope: Scope, name: str) -> Iterator[Origin]:
        select = scope.expression
        if not isinstance(select, exp.Select):
            return
        for item in select.expressions:
            if not item.is_star and item.alias_or_name.lower() == name.lower():
                yield from self._origins(Output(name, scope, item))
                return
        stars = [item for item in select.expressions if item.is_star]
        sources = self._starred(scope, stars[0]) if len(stars) == 1 else []
        if len(sources) == 1 and not any(_of_star(stars[0]).args.values()):
            yield from self._named(sources[0], name)


def _is_plain_table(source: Source) -> TypeGuard[exp.Table]:
    return isinstance(source, exp.Table) and not source.args.get("pivots")


def _of_star(item: exp.Expr) -> exp.Expr:
    return item.this if isinstance(item, exp.Column) else item


def _selected(select: exp.Expr) -> list[exp.Expr]:
    """The nodes that a SELECT selects from."""
    start = select.args.get("from_")
    joins = [join.this for join in select.args.get("joins") or ()]
    return [*([] if start is None else [start.this]), *joins, *(select.args.get("laterals") or ())]


def _merges_columns(select: exp.Expr) -> bool:
    """Whether a join makes `*` something else than the columns of all sources, one after the other."""
    return any(
        join.args.get("using") or join.method or join.kind in ("SEMI", "ANTI")
        for join in select.args.get("joins") or ()
    )


def _renamed(scope: Scope) -> Sequence[str]:
    """The names that the place of a subquery gives to its columns: `(SELECT …) AS x (a, b)`."""
    around = scope.expression if scope.is_udtf else scope.expression.parent
    alias = None if around is None else around.args.get("alias")
    return [found.name for found in alias.columns] if isinstance(alias, exp.TableAlias) else []


def _is_qualifier(source: Source, before: Sequence[str]) -> bool:
    """Whether what stands before the name of a source may be its namespace."""
    if not before:
        return True
    parts = [part.name.lower() for part in source.parts[:-1]] if isinstance(source, exp.Table) else []
    return parts[-len(before) :] == [part.lower() for part in before]


def _is_earlier_alias(scope: Scope, name: str, within: exp.Expr) -> bool:
    """Whether a name may be that of an expression before this one: Spark lets these be used at once."""
    select = scope.expression
    items: Iterable[exp.Expr] = select.expressions if isinstance(select, exp.Select) else ()
    for item in items:
        if item is within:
            return False
        if isinstance(item, exp.Alias) and item.alias.lower() == name.lower():
            return not (isinstance(item.this, exp.Column) and item.this.name.lower() == name.lower())
    return False
