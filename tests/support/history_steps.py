"""The kinds of commit that a random history is made of."""

from __future__ import annotations

import pyarrow as pa
from pyiceberg.exceptions import NotInstalledError

from support.history import History, InapplicableError, step
from support.spark import session_conf

_OVERWRITE = "spark.sql.sources.partitionOverwriteMode"
_WAP_ID = "spark.wap.id"
_FIELDS = {"identity": "part", "bucket[2]": "bucket(2, id)", "day": "days(at)"}


# Rows come


@step
def append(history: History) -> None:
    history.table.sql(f"INSERT INTO {history.table} {history.values(3)}")


@step
def append_several_files(history: History) -> None:
    history.table.sql(
        f"INSERT INTO {history.table} SELECT /*+ REPARTITION(3) */ * FROM ({history.values(6)})"
    )


@step
def append_copies(history: History) -> None:
    history.table.sql(f"INSERT INTO {history.table} SELECT * FROM {history.table} WHERE {history.ids()}")


@step
def append_merging_manifests(history: History) -> None:
    history.table.set(commit_manifest_min__count__to__merge="2")
    append(history)
    history.table.set(commit_manifest_min__count__to__merge="100")


@step
def append_by_pyiceberg(history: History) -> None:
    history.require(history.version < 3)
    table = history.table.lake.catalog("lake").load_table(history.table.name.split(".", 1)[1])
    names = [column.name for column in table.schema().columns]
    row = {"id": 77, "part": 1}
    arrays = [pa.array([row.get(name)], type=_arrow(table, name)) for name in names]
    try:
        table.append(pa.table(arrays, names=names))
    except (ValueError, NotImplementedError, NotInstalledError) as unable:  # fewer transforms than Iceberg's
        raise InapplicableError from unable


def _arrow(table: object, name: str) -> pa.DataType:
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    return schema_to_pyarrow(table.schema(), include_field_ids=False).field(name).type  # type: ignore[attr-defined]


@step
def switch_file_format(history: History) -> None:
    history.table.set(write_format_default=history.chance.choice(["avro", "orc", "parquet"]))
    append(history)


# Rows go and change


@step
def overwrite_partitions(history: History) -> None:
    with session_conf(history.table.spark, {_OVERWRITE: "dynamic"}):
        history.table.sql(f"INSERT OVERWRITE {history.table} {history.values(2)}")


@step
def overwrite_all(history: History) -> None:
    with session_conf(history.table.spark, {_OVERWRITE: "static"}):
        history.table.sql(f"INSERT OVERWRITE {history.table} {history.values(5)}")


@step
def update(history: History) -> None:
    history.table.sql(f"UPDATE {history.table} SET id = id + 1 WHERE {history.ids()}")


@step
def update_to_the_same(history: History) -> None:
    history.table.sql(f"UPDATE {history.table} SET part = part WHERE {history.ids()}")


@step
def delete_rows(history: History) -> None:
    history.table.sql(f"DELETE FROM {history.table} WHERE {history.ids()}")


@step
def delete_partition(history: History) -> None:
    history.table.sql(f"DELETE FROM {history.table} WHERE part = {history.chance.randrange(3)}")


@step
def delete_all(history: History) -> None:
    history.table.sql(f"DELETE FROM {history.table}")
    append_several_files(history)


@step
def merge(history: History) -> None:
    history.table.sql(
        f"MERGE INTO {history.table} t"
        f" USING (SELECT DISTINCT id AS k FROM {history.table} WHERE {history.ids()} UNION SELECT 99L) s"
        " ON t.id = s.k"
        " WHEN MATCHED AND t.part = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET part = 1"
        " WHEN NOT MATCHED THEN INSERT (id, part) VALUES (s.k, 2)"
    )


@step
def switch_write_mode(history: History) -> None:
    history.require(history.version > 1)
    mode = history.chance.choice(["merge-on-read", "copy-on-write"])
    history.table.set(
        write_delete_mode=mode,
        write_update_mode=mode,
        write_merge_mode=mode,
        write_delete_granularity=history.chance.choice(["file", "partition"]),
    )
    delete_rows(history)


@step
def delete_equal(history: History) -> None:
    history.require(history.version > 1)
    files = history.table.java.data_files()
    history.require(files)
    ids = history.chance.sample(range(30), 8)
    history.table.java.delete_equal([{"id": number} for number in ids], like=history.chance.choice(files))


@step
def upsert(history: History) -> None:
    history.require(history.version > 1)
    history.table.java.upsert({"id": history.chance.randrange(30), "part": 1}, key="id")


@step
def delete_positions(history: History) -> None:
    history.require(history.version == 2)
    files = history.table.java.data_files()
    history.require(files)
    chosen = history.chance.choice(files)
    place = (chosen.specId(), chosen.partition().toString())
    together = [f for f in files if (f.specId(), f.partition().toString()) == place]
    history.table.java.delete_positions({file.location(): [0] for file in together})


@step
def add_a_removed_file_again(history: History) -> None:
    files = history.table.java.data_files()
    history.require(files)
    chosen = history.chance.choice(files)
    history.table.java.remove_file(chosen)
    append(history)
    history.table.java.append_file(chosen)


# The same rows in other files


@step
def rewrite_data_files(history: History) -> None:
    history.table.compact()


@step
def rewrite_manifests(history: History) -> None:
    history.table.call("rewrite_manifests")


@step
def rewrite_position_delete_files(history: History) -> None:
    history.require(history.version > 1)
    history.table.call("rewrite_position_delete_files", "options => map('rewrite-all', 'true')")


# History that is not a line


@step
def roll_back(history: History) -> None:
    line = [s.id for s in history.table.source.metadata.ancestry(history.table.head)]
    history.require(len(line) > 2)
    back = history.chance.choice(line[1:4])
    history.table.call("rollback_to_snapshot", f"snapshot_id => {back}")


@step
def set_current_snapshot(history: History) -> None:
    there = history.table.snapshot_ids
    history.table.call("set_current_snapshot", f"snapshot_id => {history.chance.choice(there)}")


@step
def stage_and_cherry_pick(history: History) -> None:
    table = history.table
    table.set(write_wap_enabled="true")
    with session_conf(table.spark, {_WAP_ID: history.new_name("wap")}):
        append(history)
    staged = table.snapshot_ids[-1]
    append(history)
    table.call("cherrypick_snapshot", f"snapshot_id => {staged}")


@step
def fast_forward(history: History) -> None:
    table, branch = history.table, history.new_name("branch")
    table.sql(f"ALTER TABLE {table} CREATE BRANCH {branch}")
    table.sql(f"INSERT INTO {table}.branch_{branch} {history.values(2)}")
    table.sql(f"DELETE FROM {table}.branch_{branch} WHERE {history.ids()}")
    table.call("fast_forward", f"branch => 'main', to => '{branch}'")


@step
def leave_a_branch(history: History) -> None:
    table, branch = history.table, history.new_name("branch")
    table.sql(f"ALTER TABLE {table} CREATE BRANCH {branch}")
    table.sql(f"UPDATE {table}.branch_{branch} SET id = id + 2 WHERE {history.ids()}")
    append(history)


@step
def replace_table(history: History) -> None:
    history.table.sql(
        f"CREATE OR REPLACE TABLE {history.table} USING iceberg"
        f" TBLPROPERTIES ('format-version'='{history.version}')"
        f" AS SELECT * FROM {history.table} WHERE {history.ids()}"
    )


@step
def expire_some_snapshots(history: History) -> None:
    metadata = history.table.source.metadata
    held = {ref["snapshot-id"] for ref in metadata.refs().values()}
    free = [snapshot for snapshot in history.table.snapshot_ids if snapshot not in held]
    history.require(len(free) > 3)
    ids = ", ".join(f"{snapshot}" for snapshot in history.chance.sample(free, 2))
    history.table.call(
        "expire_snapshots", f"snapshot_ids => array({ids}), older_than => TIMESTAMP '2000-01-01 00:00:00'"
    )


# What the table looks like


@step
def add_column(history: History) -> None:
    kind = history.chance.choice(["int", "string", "float", "decimal(7,2)"])
    history.table.sql(f"ALTER TABLE {history.table} ADD COLUMN {history.new_name('c')} {kind}")
    append(history)


@step
def add_column_with_default(history: History) -> None:
    history.require(history.version >= 3)
    history.table.java.add_column_with_default(history.new_name("d"), "string", "unset")
    append(history)


@step
def drop_column(history: History) -> None:
    spare = history.spare_columns
    history.require(spare)
    history.table.sql(f"ALTER TABLE {history.table} DROP COLUMN {history.chance.choice(spare)}")
    append(history)


@step
def add_a_dropped_column_again(history: History) -> None:
    spare = history.spare_columns
    history.require(spare)
    name = history.chance.choice(spare)
    history.table.sql(f"ALTER TABLE {history.table} DROP COLUMN {name}")
    history.table.sql(f"ALTER TABLE {history.table} ADD COLUMN {name} string")
    append(history)


@step
def rename_column(history: History) -> None:
    spare = history.spare_columns
    history.require(spare)
    new = history.new_name("r")
    history.table.sql(f"ALTER TABLE {history.table} RENAME COLUMN {history.chance.choice(spare)} TO {new}")
    append(history)


@step
def move_column(history: History) -> None:
    spare = history.spare_columns
    history.require(spare)
    history.table.sql(f"ALTER TABLE {history.table} ALTER COLUMN {history.chance.choice(spare)} FIRST")
    append(history)


@step
def widen_column(history: History) -> None:
    wider = {"int": "bigint", "float": "double", "decimal(7, 2)": "decimal(12,2)"}
    fit = [(name, wider[kind]) for name, kind in history.columns.items() if kind in wider and name != "part"]
    history.require(fit)
    name, kind = history.chance.choice(fit)
    history.table.sql(f"ALTER TABLE {history.table} ALTER COLUMN {name} TYPE {kind}")
    append(history)


@step
def add_partition_field(history: History) -> None:
    used = {f["transform"] for spec in history.raw["partition-specs"] for f in spec["fields"]}
    free = [sql for transform, sql in _FIELDS.items() if transform not in used]
    history.require(free)
    history.table.sql(f"ALTER TABLE {history.table} ADD PARTITION FIELD {history.chance.choice(free)}")
    append(history)


@step
def drop_partition_field(history: History) -> None:
    default = history.raw["default-spec-id"]
    spec = next(s for s in history.raw["partition-specs"] if s["spec-id"] == default)
    names = [f["name"] for f in spec["fields"] if f["transform"] != "void"]
    history.require(names)
    history.table.sql(f"ALTER TABLE {history.table} DROP PARTITION FIELD {history.chance.choice(names)}")
    append(history)


@step
def upgrade_format(history: History) -> None:
    history.require(history.version < 3)
    history.table.sql(
        f"ALTER TABLE {history.table} SET TBLPROPERTIES ('format-version'='{history.version + 1}')"
    )
    append(history)
