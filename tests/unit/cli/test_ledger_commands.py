"""The commands as other programs use them: JSON, exit codes, one-line reasons, remedies."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table import Table
from sqlalchemy import func, select

from calve.cli.main import run
from calve.lake.model import Changes
from calve.ledger.ledger import Ledger
from calve.state.schema import captures, chains
from support.ledgers import added, append, head, make_ledger, make_table

pytestmark = pytest.mark.slow

CAPTURE_KEYS = {
    "capture_id",
    "consumer",
    "table",
    "table_uuid",
    "mode",
    "from_snapshot_id",
    "to_snapshot_id",
    "has_changes",
    "icdc_table",
    "icdc_metadata_location",
    "removed_table",
    "row_filter",
    "files",
    "records",
    "bytes",
    "operations",
    "skipped_operations",
    "ranges",
    "partitions",
}

Calve = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def ledger(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    monkeypatch.setenv("CALVE_HOME", str(home))
    with make_ledger(home) as made:
        yield made


@pytest.fixture
def table(ledger: Ledger) -> Table:
    return make_table(ledger)


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Ledger, dict[str, int]]]:
    """A ledger for requests that must leave no trace, and two snapshots of its table."""
    with make_ledger(tmp_path_factory.mktemp("untouched") / "home") as made:
        table = make_table(made)
        yield made, {"first": append(table, 1), "last": append(table, 2)}


@pytest.fixture
def calve(capsys: pytest.CaptureFixture[str]) -> Calve:
    """Runs a command with --json; gives its exit code and what it printed."""

    def call(*arguments: object) -> tuple[int, dict[str, Any]]:
        code = run([*map(str, arguments), "--json"])
        printed: dict[str, Any] = json.loads(capsys.readouterr().out)
        return code, printed

    return call


def test_capture_prints_the_contract(calve: Calve, table: Table) -> None:
    first, last = append(table, 1), append(table, 2, 7)
    code, shown = calve("capture", "db.t", "--consumer", "c", "--range-column", "id", "--start-from", first)
    assert code == 0
    assert set(shown) >= CAPTURE_KEYS
    assert (shown["table"], shown["mode"], shown["consumer"]) == ("lake.db.t", "append", "c")
    assert (shown["from_snapshot_id"], shown["to_snapshot_id"]) == (first, last)
    assert (shown["files"], shown["records"], shown["operations"]) == (1, 2, {"append": 1})
    bounds = {"lower": 2, "upper": 7, "exactness": "exact", "has_null": False, "has_nan": False}
    assert shown["ranges"] == {"id": bounds}


def test_capture_commit_capture(calve: Calve, table: Table) -> None:
    append(table, 1)
    _, one = calve("capture", "lake.db.t", "--consumer", "c")
    assert calve("capture", "db.t", "--consumer", "c") == (0, one)
    code, settled = calve("commit", one["capture_id"])
    assert (code, settled["status"], settled["dropped"]) == (0, "committed", True)
    assert calve("commit", one["capture_id"]) == (0, settled)
    _, nothing = calve("capture", "db.t", "--consumer", "c")
    assert (nothing["has_changes"], nothing["from_snapshot_id"]) == (False, nothing["to_snapshot_id"])


def test_several_tables_are_listed_as_sources(calve: Calve, ledger: Ledger, table: Table) -> None:
    append(table, 1)
    append(make_table(ledger, "db.u"), 2)
    _, shown = calve("capture", "db.t", "db.u", "--consumer", "c")
    assert set(shown) == {"capture_id", "consumer", "sources"}
    assert [source["table"] for source in shown["sources"]] == ["lake.db.t", "lake.db.u"]
    assert set(shown["sources"][0]) >= CAPTURE_KEYS - {"capture_id", "consumer"}


def test_tables_of_one_name_are_told_apart_by_an_alias(calve: Calve, ledger: Ledger, table: Table) -> None:
    append(table, 1)
    append(make_table(ledger, "other.t"), 2)
    code, error = calve("capture", "db.t", "other.t", "--consumer", "c")
    assert (code, error["code"]) == (2, "ALIAS_TAKEN")
    _, shown = calve("capture", "db.t", "more=other.t", "--consumer", "c")
    assert [source["alias"] for source in shown["sources"]] == ["t", "more"]


@pytest.mark.parametrize("limit", [("--max-files", 1), ("--max-rows", 1), ("--max-bytes", 1)])
def test_a_limit_leaves_the_rest_to_the_next_capture(
    calve: Calve, table: Table, limit: tuple[str, int]
) -> None:
    append(table, 1)
    append(table, 2)
    for _ in range(2):
        _, shown = calve("capture", "db.t", "--consumer", "c", *limit)
        assert (shown["files"], shown["records"]) == (1, 1)
        calve("commit", shown["capture_id"])


def test_a_window_to_compare_with_is_told_or_said_to_be_unknown(
    calve: Calve, table: Table, capsys: pytest.CaptureFixture[str]
) -> None:
    append(table, 1)
    arguments = ["capture", "db.t", "--consumer", "c", "--compare-lookback", "14d", "--ttl", "1d"]
    _, shown = calve(*arguments)
    assert shown["lookback"]["window"] == "14d"
    assert "partitioned" in shown["lookback"]["unknown"]
    assert run(arguments) == 0
    assert "14d back would read is unknown" in " ".join(capsys.readouterr().out.split())
    code, error = calve("capture", "db.t", "--consumer", "c", "--ttl", "soon")
    assert (code, error["code"]) == (2, "DURATION_INVALID")


def test_release_gives_the_changes_to_the_next_capture(calve: Calve, table: Table) -> None:
    append(table, 1)
    _, one = calve("capture", "db.t", "--consumer", "c")
    append(table, 2)
    code, settled = calve("release", one["capture_id"])
    assert (code, settled["status"]) == (0, "released")
    _, two = calve("capture", "db.t", "--consumer", "c")
    assert two["records"] == 2
    code, error = calve("commit", one["capture_id"])
    assert (code, error["code"]) == (1, "CAPTURE_RELEASED")


def test_changes_needs_no_consumer_and_remembers_nothing(calve: Calve, ledger: Ledger, table: Table) -> None:
    first, second, third = append(table, 1), append(table, 2), append(table, 3)
    code, shown = calve("changes", "db.t", "--from", first, "--to", second)
    assert code == 0
    assert added(Changes.from_json(shown)) == [2]
    assert "consumer" not in shown
    assert calve("changes", "db.t")[1]["records"] == 3
    assert calve("changes", "db.t", "--from", second)[1]["to_snapshot_id"] == third
    assert ledger.checkpoints() == []


def test_operations_choose_the_mode(calve: Calve, table: Table) -> None:
    append(table, 1)
    modes = {
        ("--operations", "append"): "append",
        ("--operations", "append,overwrite,delete"): "net",
        ("--mode", "log"): "log",
        (): "append",
    }
    for options, mode in modes.items():
        assert calve("changes", "db.t", *options)[1]["mode"] == mode


def test_lag_and_checkpoints(calve: Calve, table: Table) -> None:
    first = append(table, 1)
    calve("commit", calve("capture", "db.t", "--consumer", "c")[1]["capture_id"])
    append(table, 2)
    (behind,) = calve("lag", "--consumer", "c")[1]["lag"]
    assert (behind["table"], behind["snapshots"], behind["records"]) == ("lake.db.t", 1, 1)
    (shown,) = calve("checkpoint", "show", "--table", "db.t")[1]["checkpoints"]
    assert (shown["consumer"], shown["snapshot_id"]) == ("c", first)
    (placed,) = calve("checkpoint", "set", "db.t", "--consumer", "c", "--latest")[1]["checkpoints"]
    assert placed["snapshot_id"] == head(table)
    assert calve("checkpoint", "set", "db.t", "--consumer", "c", "--snapshot", first)[0] == 0
    (forgotten,) = calve("checkpoint", "reset", "db.t", "--consumer", "c")[1]["forgotten"]
    assert forgotten["snapshot_id"] == first
    assert calve("checkpoint", "show") == (0, {"checkpoints": []})


def test_gc_and_verify(calve: Calve, table: Table) -> None:
    append(table, 1)
    _, one = calve("capture", "db.t", "--consumer", "c")
    assert calve("verify", one["capture_id"]) == (
        0, {"capture_id": one["capture_id"], "consumer": "c", "reachable": True}
    )  # fmt: skip
    assert calve("gc", "--older-than", "1d", "--dry-run")[1] == {
        "dropped": [], "stale_open": [], "released": [], "orphans": [], "failures": [], "dry_run": True,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["capture", "db.absent", "--consumer", "c"], "TABLE_NOT_FOUND"),
        (["capture", "absent.t", "--consumer", "c"], "TABLE_NOT_FOUND"),
        (["capture", "t", "--consumer", "c"], "TABLE_NAME_INVALID"),
        (["capture", "other.db.t", "--consumer", "c"], "CATALOG_UNKNOWN"),
        (["capture", "db.t"], "USAGE"),
        (["capture", "--consumer", "c"], "USAGE"),
        (["capture", "db.t", "db.t", "--consumer", "c"], "TABLE_NAMED_TWICE"),
        (["capture", "db.t", "--consumer", "no spaces"], "CONSUMER_NAME_INVALID"),
        (["capture", "db.t", "--consumer", ""], "CONSUMER_NAME_INVALID"),
        (["capture", "db.t", "--consumer", "x'; DROP TABLE captures"], "CONSUMER_NAME_INVALID"),
        (["capture", "db.t", "--consumer", "é"], "CONSUMER_NAME_INVALID"),
        (["capture", "db.t", "--consumer", "c" * 129], "CONSUMER_NAME_INVALID"),
        (["capture", "db.t", "--consumer", "c", "--mode", "all"], "MODE_INVALID"),
        (["capture", "db.t", "--consumer", "c", "--operations", "append,merge"], "OPERATION_INVALID"),
        (
            ["capture", "db.t", "--consumer", "c", "--mode", "append", "--operations", "delete"],
            "OPERATIONS_NEED_NET",
        ),
        (["capture", "db.t", "--consumer", "c", "--on-other", "ignore"], "ON_OTHER_INVALID"),
        (["capture", "db.t", "--consumer", "c", "--branch", "absent"], "BRANCH_NOT_FOUND"),
        (["capture", "db.t", "--consumer", "c", "--start-from", "12345"], "SNAPSHOT_NOT_FOUND"),
        (["capture", "db.t", "--consumer", "c", "--start-from", "yesterday"], "SNAPSHOT_NOT_FOUND"),
        (["capture", "db.t", "--consumer", "c", "--range-column", "absent"], "RANGE_COLUMN_NOT_FOUND"),
        (["capture", "db.t", "--consumer", "c", "--identifier-column", "absent"], "COLUMN_NOT_FOUND"),
        (["changes", "db.t", "--from", "12345"], "SNAPSHOT_NOT_FOUND"),
        (["changes", "db.t", "--from", "{last}", "--to", "{first}"], "RANGE_REVERSED"),
        (["commit", "cap_0"], "CAPTURE_NOT_FOUND"),
        (["release", "cap_0"], "CAPTURE_NOT_FOUND"),
        (["verify", "cap_0"], "CAPTURE_NOT_FOUND"),
        (["lag", "--consumer", "nobody"], "CONSUMER_NOT_FOUND"),
        (["lag", "--table", "db.absent"], "TABLE_NOT_FOUND"),
        (["checkpoint", "set", "db.t", "--consumer", "c"], "CHECKPOINT_TARGET_INVALID"),
        (
            ["checkpoint", "set", "db.t", "--consumer", "c", "--latest", "--earliest"],
            "CHECKPOINT_TARGET_INVALID",
        ),
        (["checkpoint", "set", "db.t", "--consumer", "c", "--snapshot", "12345"], "SNAPSHOT_NOT_FOUND"),
        (["checkpoint", "reset", "db.t", "--consumer", "c"], "CHECKPOINT_NOT_FOUND"),
        (["gc", "--older-than", "soon"], "DURATION_INVALID"),
    ],
)
def test_wrong_use_is_exit_2_with_a_reason_and_a_remedy_and_stores_nothing(
    calve: Calve,
    untouched: tuple[Ledger, dict[str, int]],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    expected: str,
) -> None:
    ledger, names = untouched
    monkeypatch.setenv("CALVE_HOME", str(ledger.settings.home))
    code, error = calve(*(argument.format(**names) for argument in arguments))
    assert (code, error["code"]) == (2, expected)
    assert set(error) == {"code", "message", "remedy"}
    assert error["remedy"]
    assert "\n" not in error["message"]
    with ledger._database.read() as connection:
        for kept in (captures, chains):
            assert connection.execute(select(func.count()).select_from(kept)).scalar_one() == 0
    assert not list((ledger.settings.home / "warehouse").glob("_icdc/**/*.json"))


def test_a_state_that_does_not_answer_is_exit_3(
    calve: Calve, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(table, 1)
    monkeypatch.setenv("CALVE_STATE_URL", "postgresql://nobody@127.0.0.1:1/none")
    code, error = calve("capture", "db.t", "--consumer", "c")
    assert (code, error["code"]) == (3, "STATE_UNREACHABLE")


def test_people_get_words(ledger: Ledger, table: Table, capsys: pytest.CaptureFixture[str]) -> None:
    append(table, 1)
    capture = ledger.capture("db.t", consumer="c")
    commands = {
        ("capture", "db.t", "--consumer", "c"): capture.id,
        ("changes", "db.t"): "1 rows in 1 files",
        ("lag",): "lake.db.t",
        ("checkpoint", "show"): capture.id,
        ("verify", capture.id): "can be read",
        ("gc",): "0 captures",
        ("commit", capture.id): "committed",
        ("checkpoint", "reset", "db.t", "--consumer", "c"): "forgot",
    }
    for arguments, expected in commands.items():
        assert run(list(arguments)) == 0, arguments
        assert expected in capsys.readouterr().out, arguments
    assert run(["commit", "cap_0"]) == 2
    assert "CAPTURE_NOT_FOUND" in capsys.readouterr().err
