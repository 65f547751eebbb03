"""Up to which time many tables are complete."""

from __future__ import annotations

from sqlalchemy import Connection

from calve.engine.signals.watermarks import moments_of, publish


def test_the_greatest_moment_of_each_table_counts_and_others_are_absent(connection: Connection) -> None:
    for table, moment in (("lake.db.a", 5), ("lake.db.a", 70), ("lake.db.a", -3), ("lake.db.b", 0)):
        publish(connection, table, moment, 1)
    found = moments_of(connection, ["lake.db.a", "lake.db.b", "lake.db.c"])
    assert found == {"lake.db.a": 70, "lake.db.b": 0}
    assert moments_of(connection, ["lake.db.c"]) == {}
    assert moments_of(connection, []) == {}
