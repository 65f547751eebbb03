"""The text that Spark's metrics come over as."""

from __future__ import annotations

from calve.spark.scans import Scans, add_up, read_metrics

TYPE = "v2Custom_org.apache.iceberg.spark.source.metrics."
LISTED = f"""SQLPlanMetric(number of output rows,11,sum)
SQLPlanMetric(total data file size (bytes),12,{TYPE}TotalDataFileSize)
SQLPlanMetric(number of result data files,13,{TYPE}ResultDataFiles)
SQLPlanMetric(number of result delete files,14,{TYPE}ResultDeleteFiles)
SQLPlanMetric(total delete file size (bytes),15,{TYPE}TotalDeleteFileSize)
SQLPlanMetric(total data file size (bytes),21,{TYPE}TotalFileSizeInBytes)
SQLPlanMetric(total data file size (bytes),22,{TYPE}TotalDataFileSize)
SQLPlanMetric(total data file size (bytes),12,{TYPE}TotalDataFileSize)"""
VALUES = """11 -> 100
12 -> 1,500
13 -> 2
9 -> total (min, med, max (stageId: taskId))
0 ms (0 ms, 0 ms, 0 ms (stage 0.0: task 0))
14 -> 1
15 -> 43
21 -> 9999
22 -> 7"""


def test_files_and_bytes_of_all_scans_are_added_up_and_not_what_a_commit_says_of_its_table() -> None:
    assert add_up(read_metrics(LISTED), VALUES) == Scans(files=3, bytes=1_550)


def test_what_has_no_scan_or_no_value_is_nothing() -> None:
    assert read_metrics("SQLPlanMetric(number of output rows,11,sum)") == {}
    assert add_up(read_metrics(LISTED), "") == Scans()
