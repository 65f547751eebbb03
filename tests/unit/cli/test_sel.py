from __future__ import annotations

import json
from pathlib import Path

import pytest

from calve.cli.main import run


def test_an_expression_is_shown_with_its_type(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sel", "n + 1", "--params", '{"n": 41}']) == 0
    assert capsys.readouterr().out == "42  (LONG)\n"


def test_json_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sel", "new String[]{'a'};", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"type": "STRING_ARRAY", "value": ["a"]}


def test_a_mistake_is_an_error_with_a_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sel", "1 +", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["code"] == "SEL_SYNTAX"


@pytest.mark.parametrize(
    "arguments",
    [[], ["1", "--batch", "x"], ["1", "--params", "x"], ["1", "--params", "[1]"], ["--batch", "/nowhere/x"]],
)
def test_wrong_use_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sel", *arguments]) == 2
    assert "remedy" in capsys.readouterr().err


def test_a_batch_gives_a_line_for_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        '{"expr": "n + 1", "params": {"n": 1}}',
        '{"expr": "1 / 0"}',
        "not json",
        "",
        '{"params": {}}',
        '{"expr": "1", "params": [1]}',
        '{"expr": "5.0 / 0"}',
        '{"expr": "m = new Map(); m.put(\'k\', 0.0 / 0); m"}',
    ]
    file = tmp_path / "batch.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    assert run(["sel", "--batch", str(file)]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert answers[0] == {"type": "LONG", "value": 2}
    assert [answer.get("error", {}).get("code") for answer in answers[1:5]] == [
        "SEL_VALUE",
        "BATCH_LINE",
        "BATCH_LINE",
        "PARAMS_INVALID",
    ]
    assert (answers[1]["error"]["line"], answers[1]["error"]["column"]) == (1, 3)
    assert answers[5:] == [{"type": "DOUBLE", "value": "Infinity"}, {"type": "MAP", "value": {"k": "NaN"}}]
