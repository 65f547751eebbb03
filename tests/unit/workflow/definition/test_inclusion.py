"""`$FILE{…}` and `$S3{…}`."""

from __future__ import annotations

import json

import pytest

from calve.workflow.definition import load_json
from unit.workflow.definition.helpers import Texts, read, refused

FILES = Texts(
    {"q.sql": "SELECT $x\n", "sql/deep.sql": "deep", "s3://bucket/q.sql": "far", "big.sql": "x" * 300_000}
)


def flow(value: str) -> str:
    return f"Workflow:\n  id: flow\n  p: {value}\n  jobs: [{{job: {{id: a, type: NoOp}}}}]\n"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("$FILE{q.sql}", "SELECT $x\n"),
        ("$S3{q.sql}", "SELECT $x\n"),
        ("$S3{ sql/deep.sql }", "deep"),
        ("$S3{s3://bucket/q.sql}", "far"),
        ("'a $FILE{sql/deep.sql} b $FILE{sql/deep.sql}'", "a deep b deep"),
        ("$$FILE{q.sql}", "$$FILE{q.sql}"),
        ("$$$FILE{sql/deep.sql}", "$$deep"),
    ],
)
def test_the_text_of_the_file_stands_in_its_place(value: str, text: str) -> None:
    assert read(flow(value), files=FILES).definition.workflow.params["p"].value == text


def test_texts_inside_lists_and_maps_are_included_and_other_texts_are_not() -> None:
    text = """\
        Description: $FILE{q.sql}
        Workflow:
          id: flow
          list: ['$FILE{sql/deep.sql}']
          map: {k: '$FILE{sql/deep.sql}'}
          jobs: [{job: {id: a, type: NoOp, m: {k: '$FILE{sql/deep.sql}', n: 1}}}]
        """
    definition = read(text, files=FILES).definition.workflow
    assert definition.description == "$FILE{q.sql}"
    assert definition.params["list"].value == ["deep"]
    assert definition.params["map"].value == {"k": "deep"}
    assert definition.steps[0].params["m"].members["k"].value == "deep"


def test_json_includes_as_yaml_does() -> None:
    param = {"value": "$FILE{sql/deep.sql}", "type": "STRING"}
    step = {"step": {"id": "a", "type": "NoOp"}}
    text = json.dumps({"workflow": {"id": "flow", "params": {"p": param}, "steps": [step]}})
    assert load_json(text, files=FILES).definition.workflow.params["p"].value == "deep"


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("$FILE{../secret.sql}", "INCLUDE_OUTSIDE"),
        ("$S3{a/../../secret.sql}", "INCLUDE_OUTSIDE"),
        ("$FILE{/etc/passwd}", "INCLUDE_OUTSIDE"),
        ("'$FILE{C:\\secret}'", "INCLUDE_OUTSIDE"),
        ("'$FILE{..\\secret}'", "INCLUDE_OUTSIDE"),
        ("$FILE{s3://bucket/q.sql}", "INCLUDE_OUTSIDE"),
        ("$S3{file:///etc/passwd}", "INCLUDE_OUTSIDE"),
        ("$S3{http://host/x}", "INCLUDE_OUTSIDE"),
        ("$FILE{}", "INCLUDE_OUTSIDE"),
        ("$FILE{.}", "INCLUDE_OUTSIDE"),
        ("$FILE{none.sql}", "INCLUDE_NOT_FOUND"),
        ("$FILE{big.sql}", "FILE_TOO_BIG"),
    ],
)
def test_what_cannot_be_included_is_refused_at_its_place(value: str, code: str) -> None:
    (problem,) = refused(flow(value), files=FILES)
    assert (problem.code, problem.at.line, problem.at.column) == (code, 3, 6)


def test_without_a_reader_nothing_is_read() -> None:
    assert [problem.code for problem in refused(flow("$FILE{q.sql}"))] == ["INCLUDE_UNAVAILABLE"]
