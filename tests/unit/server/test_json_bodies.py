"""JSON that could not be kept, or not be told again, is refused before any route sees it."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from calve.errors import CalveError
from calve.server.json_bodies import DEPTH_LIMIT, check_json


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        '"\\ud83d\\ude00"',
        "1e300",
        nested(DEPTH_LIMIT),
        "not: json",
        "{",
        "\x00",
        '{"a": [1, null]}',
    ],
)
def test_what_can_be_kept_and_what_is_no_json_passes(text: str) -> None:
    check_json(text.encode())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": ["\\ud800"]}', "no Unicode"),
        ('{"\\udfff": 1}', "no Unicode"),
        ("[NaN]", "number nan"),
        ('{"a": -Infinity}', "number -inf"),
        ("1e400", "number inf"),
        (nested(DEPTH_LIMIT + 1), "nested"),
        (nested(100_000), "nested"),
    ],
)
def test_what_cannot_be_kept_is_refused(text: str, said: str) -> None:
    with pytest.raises(CalveError, match=said) as caught:
        check_json(text.encode())
    assert caught.value.code == "VALUE_INVALID"


HELLO = {"workflow": {"id": "hello", "steps": [{"step": {"id": "a", "type": "NoOp"}}]}}


@pytest.mark.slow
@pytest.mark.parametrize("value", ['"\\ud800"', "NaN", nested(150)])
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/workflows/hello/properties/tag", '{"name": "t", "more": %s}'),
        ("POST", "/workflows/hello/versions/active/actions/start", '{"run_params": {"a": %s}}'),
        ("PUT", "/output-data", '{"external_job_type": "t", "external_job_id": "j", "params": {"a": %s}}'),
        ("POST", "/job-templates", '{"definition": {"job_type": "t", "step_type": "NoOp"}, "owner": %s}'),
        ("POST", "/signals", '{"name": "s", "payload": {"a": %s}}'),
    ],
)
def test_a_value_that_cannot_be_told_again_is_not_stored(
    api: TestClient, method: str, path: str, body: str, value: str
) -> None:
    assert api.post("/workflows", json=HELLO).status_code == 200
    found = api.request(method, path, content=(body % value).encode())
    assert (found.status_code, found.json()["code"]) == (400, "VALUE_INVALID")
    assert api.get("/workflows/hello/versions/latest").status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    ['[{"workflow_id": "w", "instance_id": "x"}]', '[{"workflow_id": "w", "instance_id": {}}, {}]', "[{}]"],
)
def test_a_path_of_loops_that_is_none_is_refused(api: TestClient, body: str) -> None:
    path = "/workflows/instances/inline-workflow-id"
    found = api.request("GET", path, content=body, headers={"content-type": "application/json"})
    assert (found.status_code, found.json()["code"]) == (400, "REQUEST_INVALID")
