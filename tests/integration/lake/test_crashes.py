"""A process that dies while it writes a capture leaves nothing that anybody can see."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from datetime import timedelta

import pytest
from pyiceberg.io import FileIO

from calve.lake import collect_orphans, drop_changes, storage
from calve.lake.listing import list_files
from calve.settings import IcdcSettings
from support.lake_table import MERGE_ON_READ

from .conftest import MakeTable

# Dies at the given call of the function that writes files or registers tables: before it, or after it.
_DYING = """
import os, sys
from pathlib import Path
from calve.lake import *
from calve.lake import icdc, icdc_table
from calve.settings import load_settings

home, name, start, end, moment, when = sys.argv[1:]
left = int(moment)

def dying(function):
    def call(*arguments):
        global left
        if left == 0 and when == "before":
            os._exit(9)
        function(*arguments)
        if left == 0:
            os._exit(9)
        left -= 1
    return call

icdc.write_bytes = dying(icdc.write_bytes)
icdc_table.register = dying(icdc_table.register)
settings = load_settings(Path(home))
table = open_table(Lake(settings), name)
request = ChangeRequest(Mode.NET, (Segment(int(start), int(end)),))
write_changes(plan_changes(table, request), settings.icdc)
"""


def die(table_name: str, home: str, start: int, end: int, moment: int, when: str) -> int:
    arguments = [home, table_name, str(start), str(end), str(moment), when]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CALVE_")}
    return subprocess.run([sys.executable, "-c", _DYING, *arguments], check=False, env=environment).returncode


def test_crash_at_any_write_is_invisible_collected_and_can_be_repeated(make_table: MakeTable) -> None:
    table = make_table("id bigint, part int", "part", **MERGE_ON_READ)
    start = table.insert("(1, 0)", "(2, 0)", "(3, 1)")
    table.sql(f"DELETE FROM {table} WHERE id = 1")
    end = table.insert("(4, 1)")
    home = str(table.lake.settings.home)
    catalog = table.lake.catalog("lake")
    catalog.create_namespace_if_not_exists("icdc")
    collect_orphans(table.lake, IcdcSettings(), (), timedelta(0))
    others = set(catalog.list_tables("icdc"))

    def registered() -> list[str]:
        return [name for _, name in set(catalog.list_tables("icdc")) - others]

    deaths = 0
    survived = False
    for moment in range(30):
        if die(table.name, home, start, end, moment, "before") == 0:
            survived = True
            break
        deaths += 1
        # Only a whole table may be in the catalog: one that can be loaded and read.
        for name in registered():
            assert table.sql(f"SELECT count(*) FROM lake.icdc.{name}").collect()[0][0] > 0
        if not registered():
            folders = collect_orphans(table.lake, IcdcSettings(), (), timedelta(0))
            assert bool(folders) == (moment > 0)
    assert survived
    assert deaths >= 6

    changes = table.check_net(start, end)
    assert table.difference(changes) == (Counter([(4, 1)]), Counter([(1, 0)]))
    files = {f.location for f in list_files(table.source.io, table.source.metadata.location)}
    collect_orphans(table.lake, IcdcSettings(), (), timedelta(0))
    assert registered() == []
    assert {f.location for f in list_files(table.source.io, table.source.metadata.location)} == files


@pytest.mark.parametrize("moment", [1, 3])
def test_full_disk_is_told_and_the_next_try_succeeds(
    make_table: MakeTable, monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    table = make_table(**MERGE_ON_READ)
    start = table.insert("(1, 'a')", "(2, 'b')")
    table.sql(f"DELETE FROM {table} WHERE id = 1")
    table.insert("(3, 'c')")
    real, calls = storage.write_bytes, iter(range(100))

    def full(io: FileIO, location: str, data: bytes) -> None:
        if next(calls) == moment:
            raise OSError(28, "No space left on device")
        real(io, location, data)

    monkeypatch.setattr("calve.lake.icdc.write_bytes", full)
    with pytest.raises(OSError, match="No space"):
        table.net(start)
    monkeypatch.undo()
    changes = table.check_net(start)
    drop_changes(table.lake, changes)
    folder = str(changes.icdc_metadata_location).rpartition("/metadata/")[0]
    assert list(list_files(table.source.io, folder)) == []
