"""Playback events as devices send them: most are about the day on which they arrive, some are late."""

from __future__ import annotations

import random
from datetime import date, timedelta

import pyarrow as pa
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DateType, LongType, NestedField, StringType

from calve.lake import Lake
from calve.settings import load_settings

FIRST_DAY = date(2026, 1, 1)
DAYS_LATE = 3
TITLES = ("Crevasse", "Firn", "Growler", "Moraine", "Polynya", "Serac")
EVENTS = Schema(
    NestedField(1, "event_id", LongType()),
    NestedField(2, "day", DateType()),
    NestedField(3, "title", StringType()),
    NestedField(4, "minutes", LongType()),
)
DAILY = Schema(
    NestedField(1, "day", DateType()),
    NestedField(2, "title", StringType()),
    NestedField(3, "plays", LongType()),
    NestedField(4, "minutes", LongType()),
)


def arrive(rows: int, late: int, events: str, daily: str) -> dict[str, str]:
    """One more day of events, and `late` more about the days before it, in one commit."""
    table = open_table(events, EVENTS)
    # The totals are written by another workflow, which finds them here.
    open_table(daily, DAILY)
    number = len(table.history())
    table.append(pa.Table.from_pylist(make_events(number, rows, late), schema=table.schema().as_arrow()))
    day = FIRST_DAY + timedelta(days=number)
    print(f"{rows + late} events arrived on {day}, {late} of them late")
    return {"day": day.isoformat()}


def make_events(number: int, rows: int, late: int) -> list[dict[str, object]]:
    """What arrives on a day, counted from 0: always the same."""
    dice = random.Random(number)
    days = [number] * rows + [max(number - dice.randint(1, DAYS_LATE), 0) for _ in range(late)]
    return [
        {
            "event_id": number * 1_000_000 + place,
            "day": FIRST_DAY + timedelta(days=day),
            "title": dice.choice(TITLES),
            "minutes": dice.randint(1, 120),
        }
        for place, day in enumerate(days)
    ]


def open_table(name: str, schema: Schema) -> Table:
    """A table of the lake, partitioned by day; made if it is not there."""
    lake = Lake(load_settings())
    found = lake.resolve(name)
    catalog = lake.catalog(found.catalog)
    try:
        return catalog.load_table(found.identifier)
    except NoSuchTableError:
        day = schema.find_field("day").field_id
        by_day = PartitionSpec(PartitionField(day, 1000, IdentityTransform(), "day"))
        catalog.create_namespace_if_not_exists(found.namespace)
        return catalog.create_table_if_not_exists(found.identifier, schema, partition_spec=by_day)
