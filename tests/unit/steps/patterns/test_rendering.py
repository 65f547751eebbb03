"""What the patterns render: which statements, with which literals, and what they refuse."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest

from calve.errors import CalveError
from calve.lake.model import ColumnRange, Exactness
from calve.spark.targets import write_of
from calve.steps.patterns.rendering import aggregate, append, merge
from calve.steps.patterns.rendering import range as range_
from calve.steps.patterns.rendering.aggregate import AggregatePlan
from calve.steps.patterns.rendering.append import AppendPlan
from calve.steps.patterns.rendering.filters import PartitionField
from calve.steps.patterns.rendering.merge import MergePlan
from calve.steps.patterns.rendering.range import RangePlan
from calve.steps.patterns.rendering.rendered import Rendered
from support.pattern_requests import changes, request

ALL = "SELECT id, day, account, secs, at FROM events"
DAYS = [{"day": "2024-01-01"}, {"day": "2024-01-02"}]
BOTH_DAYS = "IN (DATE '2024-01-01', DATE '2024-01-02')"
TOTALS = "SELECT day, account, count(*) AS n, sum(secs) AS total FROM events GROUP BY day, account"
TOTAL_COLUMNS = {"day": "date", "account": "string", "n": "long", "total": "long"}
KEYS = {"day": None, "account": None}


def texts(rendered: Rendered) -> list[str]:
    found = [" ".join(statement.text.split()) for statement in rendered.statements]
    for statement in rendered.statements:
        write = write_of(statement.text)
        assert write is not None
        assert write.table == "lake.db.target"
    return found


def refusal(code: str, render: Any, plan: Any, asked: Any) -> CalveError:
    with pytest.raises(CalveError) as caught:
        render(plan, asked)
    assert caught.value.code == code
    return caught.value


@pytest.mark.parametrize(
    ("render", "plan"),
    [
        (append.render, AppendPlan(ALL)),
        (merge.render, MergePlan(ALL, ["id"])),
        (aggregate.render, AggregatePlan(TOTALS, KEYS)),
        (range_.render, RangePlan(ALL, "day")),
    ],
)
def test_an_empty_change_renders_to_nothing(render: Any, plan: Any) -> None:
    assert render(plan, request(changes(has_changes=False))) == Rendered()


class TestAppend:
    def test_it_is_one_insert_over_the_change(self) -> None:
        (text,) = texts(append.render(AppendPlan(ALL), request()))
        assert text.startswith("INSERT INTO lake.db.target BY NAME SELECT * FROM (")
        assert "FROM lake.icdc.change AS `events`" in text

    def test_rows_that_were_carried_along_are_left_out_where_lineage_tells(self) -> None:
        (text,) = texts(append.render(AppendPlan(ALL, by_name=False), request(changes(row_filter="_x > 5"))))
        assert "FROM (SELECT * FROM lake.icdc.change WHERE (_x > 5)) AS `events`" in text
        assert "BY NAME" not in text

    def test_rows_that_went_cannot_be_appended(self) -> None:
        refusal("CHANGE_REMOVES_ROWS", append.render, AppendPlan(ALL), request(changes(removed=True)))

    def test_a_change_without_a_table_in_the_catalog_is_refused(self) -> None:
        refusal("ICDC_NOT_REGISTERED", append.render, AppendPlan(ALL), request(changes(icdc_table=None)))


class TestMerge:
    def test_keys_in_the_partitions_of_the_change_prune_source_and_target(self) -> None:
        plan = MergePlan(ALL, ["id", "day"], ["at DESC"], atomic=True)
        (text,) = texts(merge.render(plan, request(changes(partitions=DAYS))))
        assert f"FROM (SELECT * FROM lake.icdc.change WHERE `day` {BOTH_DAYS})" in text
        assert f"ON t.`id` <=> s.`id` AND t.`day` = s.`day` AND t.`day` {BOTH_DAYS}" in text
        assert "PARTITION BY `id`, `day` ORDER BY at DESC" in text
        assert "WHEN MATCHED AND (s.`at` > t.`at` OR" in text

    def test_new_partitions_are_inserted_and_only_the_others_merged(self) -> None:
        plan = MergePlan(ALL, ["id", "day"], ["at DESC"])
        missing = {"day": frozenset({date(2024, 1, 2)})}
        insert, merged, unknown = texts(
            merge.render(plan, request(changes(partitions=DAYS), missing=missing))
        )
        assert insert.startswith("INSERT INTO lake.db.target (`id`, `day`, `account`, `secs`, `at`)")
        assert "WHERE `day` IN (DATE '2024-01-02')" in insert
        assert "AND t.`day` IN (DATE '2024-01-01')" in merged
        assert "WHERE t.`day` IN (DATE '2024-01-01') ) AS known" in unknown

    def test_rows_of_new_partitions_are_not_shuffled_where_repeats_are_rare(self) -> None:
        plan = MergePlan(ALL, ["id", "day"], ["at DESC"], rare_repeats=True)
        missing = {"day": frozenset({date(2024, 1, 2)})}
        insert, *late = texts(merge.render(plan, request(changes(partitions=DAYS), missing=missing)))
        assert "row_number()" not in insert
        assert "max(`at`) AS _calve_first FROM q GROUP BY `id`, `day` HAVING count(*) > 1" in insert
        assert "q.`day` <=> again.`day` AND q.`at` < again._calve_first" in insert
        assert all("row_number()" in text for text in late)

    def test_a_target_without_any_of_the_partitions_needs_no_merge(self) -> None:
        missing = {"day": frozenset({date(2024, 1, 1), date(2024, 1, 2)})}
        plan = MergePlan(ALL, ["id", "day"])
        (text,) = texts(merge.render(plan, request(changes(partitions=DAYS), missing=missing)))
        assert text.startswith("INSERT INTO")

    def test_a_column_that_is_no_key_prunes_only_if_the_user_says_so(self) -> None:
        asked = request(changes(partitions=DAYS))
        rendered = merge.render(MergePlan(ALL, ["id"]), asked)
        assert BOTH_DAYS not in texts(rendered)[0]
        assert any("partition_column" in note for note in rendered.notes)
        stated = merge.render(MergePlan(ALL, ["id"], partition_columns={"day": "day"}), asked)
        assert f"t.`day` {BOTH_DAYS}" in texts(stated)[0]

    def test_a_day_that_is_made_from_a_moment_prunes_by_its_date(self) -> None:
        found = changes(partitions=[{"at_day": "2024-01-05"}])
        asked = request(found, source_fields=[PartitionField("at_day", "at", "timestamptz", "day")])
        plan = MergePlan(ALL, ["id"], partition_columns={"day": "at"})
        text = texts(merge.render(plan, asked))[0]
        assert "(t.`day` >= DATE '2024-01-04' AND t.`day` <= DATE '2024-01-07')" in text

    def test_a_key_that_the_query_makes_does_not_prune(self) -> None:
        query = "SELECT id, date_add(day, 1) AS day, account, secs, at FROM events"
        for text in texts(merge.render(MergePlan(query, ["id", "day"]), request(changes(partitions=DAYS)))):
            assert BOTH_DAYS not in text

    @pytest.mark.parametrize(
        ("query", "required", "sign"),
        [
            (ALL, {"id"}, "="),
            (ALL, set(), "<=>"),
            (f"{ALL} WHERE secs > 1 AND id IS NOT NULL", set(), "="),
            (f"{ALL} WHERE secs > 1 OR id IS NOT NULL", set(), "<=>"),
            (ALL.replace("id,", "xxhash64(id) AS id,"), set(), "="),
            (ALL.replace("id,", "id + 1 AS id,") + " WHERE id IS NOT NULL", set(), "<=>"),
        ],
    )
    def test_keys_that_are_never_null_are_compared_the_cheap_way(
        self, query: str, required: set[str], sign: str
    ) -> None:
        for text in texts(merge.render(MergePlan(query, ["id"]), request(required=frozenset(required)))):
            assert f"t.`id` {sign} " in text

    def test_what_is_known_is_left_alone_where_matches_are_ignored(self) -> None:
        plan = MergePlan(ALL, ["id"], updates=False, match_on=["at"])
        (text,) = texts(merge.render(plan, request()))
        assert text.startswith(
            "INSERT INTO lake.db.target (`id`, `day`, `account`, `secs`, `at`) WITH s AS ("
        )
        assert "LEFT SEMI JOIN (SELECT `at` FROM s) AS k ON t.`at` <=> k.`at`" in text
        assert "PARTITION BY `id`" in text

    def test_the_change_is_broadcast_in_two_statements_or_merged_in_one(self) -> None:
        matched, unknown = texts(merge.render(MergePlan(ALL, ["id"]), request()))
        assert "USING ( SELECT /*+ BROADCAST(c) */ c.* FROM (" in matched
        assert "NOT MATCHED" not in matched
        assert "LEFT ANTI JOIN" in unknown
        asked = request(changes(partitions=DAYS), missing={"day": frozenset({date(2024, 1, 2)})})
        (one,) = texts(merge.render(MergePlan(ALL, ["id", "day"], atomic=True), asked))
        assert "WHEN MATCHED THEN UPDATE" in one
        assert "WHEN NOT MATCHED THEN INSERT" in one

    def test_conditions_of_the_user_are_kept_apart_by_brackets(self) -> None:
        plan = MergePlan(
            ALL, ["id"], update_when="s.secs > 1 OR TRUE", delete_when="s.secs < 0 OR FALSE", atomic=True
        )
        (text,) = texts(merge.render(plan, request()))
        assert "WHEN MATCHED AND (s.secs < 0 OR FALSE) THEN DELETE" in text
        assert "WHEN MATCHED AND (s.secs > 1 OR TRUE) THEN UPDATE" in text
        assert "WHEN NOT MATCHED AND NOT coalesce((s.secs < 0 OR FALSE), FALSE) THEN INSERT" in text

    def test_keys_of_rows_that_went_are_read_anew_from_the_source(self) -> None:
        plan = MergePlan(ALL, ["id"], ["at DESC"])
        (text,) = texts(merge.render(plan, request(changes(removed=True))))
        assert "FROM lake.db.events VERSION AS OF 2 AS `events`" in text
        assert "FROM lake.icdc.removed AS `events`" in text
        assert "WHEN MATCHED AND s._calve_here IS NULL THEN DELETE" in text

    def test_with_unique_keys_the_source_is_not_read(self) -> None:
        (text,) = texts(
            merge.render(MergePlan(ALL, ["id"], unique_source=True), request(changes(removed=True)))
        )
        assert "VERSION AS OF" not in text

    def test_lineage_leaves_out_rows_that_were_carried_along(self) -> None:
        found = changes(removed=True, row_filter="_x > 5")
        (text,) = texts(merge.render(MergePlan(ALL, ["id"]), request(found)))
        assert (
            "LEFT ANTI JOIN (SELECT _row_id AS id FROM lake.icdc.change WHERE NOT (_x > 5)) AS carried"
            in text
        )

    def test_a_key_that_is_not_there_is_named(self) -> None:
        error = refusal("COLUMN_NOT_FOUND", merge.render, MergePlan(ALL, ["nothing"]), request())
        assert "nothing" in error.message


class TestAggregate:
    def test_changed_keys_filter_the_source_before_it_is_aggregated(self) -> None:
        asked = request(changes(partitions=DAYS), columns=TOTAL_COLUMNS)
        (text,) = texts(aggregate.render(AggregatePlan(TOTALS, KEYS), asked))
        assert "SELECT /*+ BROADCAST(k) */ src.* FROM lake.db.events VERSION AS OF 2 AS src" in text
        assert (
            "SELECT DISTINCT `day` AS `day`, `account` AS `account` FROM (SELECT * FROM lake.icdc.change"
            in text
        )
        assert f"WHERE `day` {BOTH_DAYS}) AS `events` GROUP BY" in text
        assert f"AND t.`day` {BOTH_DAYS}" in text

    def test_the_current_day_is_overwritten_and_the_others_merged(self) -> None:
        asked = request(changes(partitions=DAYS), columns=TOTAL_COLUMNS)
        plan = AggregatePlan(TOTALS, KEYS, current="day = DATE '2024-01-02'")
        overwrite, merged = texts(aggregate.render(plan, asked))
        assert overwrite.startswith(
            "INSERT INTO lake.db.target REPLACE WHERE `day` = DATE '2024-01-02' SELECT `day`"
        )
        assert "icdc" not in overwrite
        assert "t.`day` IN (DATE '2024-01-01')" in merged

    def test_a_current_day_that_did_not_change_is_left_alone(self) -> None:
        asked = request(changes(partitions=DAYS), columns=TOTAL_COLUMNS)
        plan = AggregatePlan(TOTALS, KEYS, current="day = DATE '2024-01-09'")
        (text,) = texts(aggregate.render(plan, asked))
        assert text.startswith("MERGE")

    def test_a_change_of_the_current_day_alone_needs_no_merge(self) -> None:
        asked = request(changes(partitions=DAYS[:1]), columns=TOTAL_COLUMNS)
        (text,) = texts(
            aggregate.render(AggregatePlan(TOTALS, KEYS, current="day = DATE '2024-01-01'"), asked)
        )
        assert "REPLACE WHERE" in text

    @pytest.mark.parametrize(
        "current",
        [
            "day = current_date()",
            "day > DATE '2024-01-01'",
            "account = 'x'",
            "nothing = 1",
            "day = day",
            "n = 1",
        ],
    )
    def test_a_current_part_that_cannot_be_told_for_sure_is_refused(self, current: str) -> None:
        asked = request(changes(partitions=DAYS), columns=TOTAL_COLUMNS)
        refusal("CURRENT_INVALID", aggregate.render, AggregatePlan(TOTALS, KEYS, current=current), asked)

    def test_sums_are_added_to_and_the_source_is_not_read(self) -> None:
        plan = AggregatePlan(TOTALS, KEYS, additive={"n": "sum", "total": "max"})
        text, unknown = texts(aggregate.render(plan, request(columns=TOTAL_COLUMNS)))
        assert "VERSION AS OF" not in text + unknown
        assert "`n` = coalesce(t.`n` + s.`n`, t.`n`, s.`n`), `total` = greatest(t.`total`, s.`total`)" in text

    def test_what_went_is_taken_off_sums_and_empty_groups_go(self) -> None:
        plan = AggregatePlan(TOTALS, KEYS, additive={"n": "sum", "total": "sum"}, count_column="n")
        (text,) = texts(aggregate.render(plan, request(changes(removed=True), columns=TOTAL_COLUMNS)))
        assert "-`n` AS `n`" in text
        assert "WHEN MATCHED AND coalesce(t.`n` + s.`n`, t.`n`, s.`n`) = 0 THEN DELETE" in text

    @pytest.mark.parametrize(
        ("additive", "count"), [({"n": "sum", "total": "max"}, "n"), ({"n": "sum", "total": "sum"}, None)]
    )
    def test_what_cannot_be_taken_back_is_refused_where_rows_went(
        self, additive: dict[str, str], count: str | None
    ) -> None:
        plan = AggregatePlan(TOTALS, KEYS, additive=additive, count_column=count)
        asked = request(changes(removed=True), columns=TOTAL_COLUMNS)
        refusal("CHANGE_REMOVES_ROWS", aggregate.render, plan, asked)

    def test_every_column_that_is_added_to_has_to_say_how(self) -> None:
        plan = AggregatePlan(TOTALS, KEYS, additive={"n": "sum"})
        error = refusal("ADDITIVE_INCOMPLETE", aggregate.render, plan, request(columns=TOTAL_COLUMNS))
        assert "total" in error.message

    def test_keys_of_a_query_that_tests_groups_have_to_be_given(self) -> None:
        query = "SELECT upper(account) AS account, count(*) AS n FROM events GROUP BY 1 HAVING count(*) > 2"
        asked = request(columns={"account": "string", "n": "long"})
        refusal("KEYS_UNKNOWN", aggregate.render, AggregatePlan(query, {"account": None}), asked)
        (text,) = texts(aggregate.render(AggregatePlan(query, {"account": "upper(account)"}), asked))
        assert "SELECT DISTINCT (upper(account)) AS `account` FROM lake.icdc.change" in text


class TestRange:
    def ranged(self, lower: str, **options: Any) -> Any:
        found = ColumnRange(lower, "2024-02-20", Exactness.EXACT, options.pop("has_null", False), False)
        return request(changes(ranges={"day": found}), **options)

    def test_the_target_is_exchanged_from_the_lower_bound_on(self) -> None:
        (text,) = texts(range_.render(RangePlan(ALL, "day"), self.ranged("2024-02-10")))
        assert text.startswith(
            "INSERT INTO lake.db.target REPLACE WHERE `day` >= DATE '2024-02-10' SELECT `id`"
        )
        assert "VERSION AS OF 2 AS src WHERE `day` >= DATE '2024-02-10'" in text

    def test_the_bound_moves_back_to_the_beginning_of_a_partition(self) -> None:
        fields = [PartitionField("day_month", "day", "date", "month")]
        (text,) = texts(range_.render(RangePlan(ALL, "day"), self.ranged("2024-02-10", target_fields=fields)))
        assert "REPLACE WHERE `day` >= DATE '2024-02-01'" in text

    def test_the_query_sees_what_lies_before_and_writes_none_of_it(self) -> None:
        plan = RangePlan(ALL, "day", context_before=timedelta(days=3))
        (text,) = texts(range_.render(plan, self.ranged("2024-02-10")))
        assert "WHERE `day` >= DATE '2024-02-07')" in text
        assert text.endswith("AS q WHERE `day` >= DATE '2024-02-10'")

    def test_a_target_without_such_partitions_is_exchanged_row_by_row(self) -> None:
        rendered = range_.render(RangePlan(ALL, "day"), self.ranged("2024-02-10", target_fields=[]))
        (text,) = texts(rendered)
        assert "ON FALSE" in text
        assert text.endswith("WHEN NOT MATCHED BY SOURCE AND t.`day` >= DATE '2024-02-10' THEN DELETE")
        assert rendered.notes

    def test_rows_without_a_place_in_the_order_make_everything_anew(self) -> None:
        rendered = range_.render(RangePlan(ALL, "day"), self.ranged("2024-02-10", has_null=True))
        (text,) = texts(rendered)
        assert "REPLACE WHERE TRUE" in text
        assert "no place" in rendered.notes[0]

    def test_an_unknown_range_makes_everything_anew(self) -> None:
        unknown = ColumnRange(None, None, Exactness.UNKNOWN, None, None)
        (text,) = texts(range_.render(RangePlan(ALL, "day"), request(changes(ranges={"day": unknown}))))
        assert "REPLACE WHERE TRUE" in text

    def test_partitions_stand_in_for_a_range(self) -> None:
        (text,) = texts(range_.render(RangePlan(ALL, "day"), request(changes(partitions=DAYS))))
        assert "REPLACE WHERE `day` >= DATE '2024-01-01'" in text

    def test_a_range_that_was_not_captured_is_asked_for(self) -> None:
        error = refusal("RANGE_NOT_CAPTURED", range_.render, RangePlan(ALL, "day"), request())
        assert "range_columns: [day]" in error.remedy

    def test_days_of_moments_begin_a_day_earlier(self) -> None:
        found = ColumnRange(
            "2024-02-10T05:00:00+00:00", "2024-02-11T05:00:00+00:00", Exactness.EXACT, False, False
        )
        plan = RangePlan(ALL, "at", target_column="day")
        (text,) = texts(range_.render(plan, request(changes(ranges={"at": found}))))
        assert "REPLACE WHERE `day` >= DATE '2024-02-09'" in text
        assert "WHERE `at` >= TIMESTAMP '2024-02-08 00:00:00+00:00'" in text

    def test_context_of_another_kind_than_the_column_is_refused(self) -> None:
        plan = RangePlan(ALL, "day", context_before=5)
        refusal("CONTEXT_INVALID", range_.render, plan, self.ranged("2024-02-10"))

    def test_a_query_that_lacks_a_column_of_the_target_is_refused(self) -> None:
        plan = RangePlan("SELECT id, day FROM events", "day")
        error = refusal("COLUMN_NOT_FOUND", range_.render, plan, self.ranged("2024-02-10"))
        assert "account, secs, at" in error.message
