"""SQL scripts whose tables are others than those that they name."""

from __future__ import annotations

from collections.abc import Mapping

from calve.lake.catalogs import split_name
from calve.spark.statements import split_statements


def with_tables(script: str, tables: Mapping[str, str]) -> str:
    """The script, with each table that is named here exchanged. Raises QUERY_INVALID where it stands in
    something that cannot be read."""
    if not any(_may_stand(script, name) for name in tables):
        return script
    texts = [statement.text for statement in split_statements(script)]
    return ";\n".join(_exchanged(text, number, tables) for number, text in enumerate(texts, 1))


def _exchanged(text: str, number: int, tables: Mapping[str, str]) -> str:
    from calve.steps.patterns.rendering.branching import exchange_table

    for name, table in tables.items():
        if _may_stand(text, name):
            text = exchange_table(text, [name], table, f"statement {number}") or text
    return text


def _may_stand(text: str, name: str) -> bool:
    return split_name(name)[-1].lower() in text.lower()
