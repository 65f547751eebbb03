"""What a job gives back, by its file and by its log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calve.errors import UsageError
from calve.steps.contract import Ending, SignalToSend
from calve.steps.process import output_log
from calve.steps.process.output_log import MAX_OUTPUT_BYTES, OutputTokens, find_outputs, tail
from calve.steps.shell import Shell
from support.steps import make_context, run_to_end

TOKENS = OutputTokens("<<start>>", "<<end>>")


def printing(document: object, *, after: str = "") -> str:
    text = json.dumps(document) if not isinstance(document, str) else document
    return f'echo "$MAESTRO_OUTPUT_START"\ncat <<\'EOF\'\n{text}\nEOF\necho "$MAESTRO_OUTPUT_END"\n{after}'


def shell(tmp_path: Path, script: str, **own: Any) -> Any:
    return run_to_end(Shell(), make_context(tmp_path, {"script": script, **own}))


def test_outputs_by_file(tmp_path: Path) -> None:
    end = shell(tmp_path, """echo '{"rows": 3, "names": ["ä", "b"]}' > "$CALVE_OUTPUT" """)
    assert end.ending is Ending.DONE
    assert end.outputs == {"rows": 3, "names": ["ä", "b"]}


def test_outputs_by_tokens(tmp_path: Path) -> None:
    params = {
        "rows": {"value": 3, "type": "LONG"},
        "day": {"value": "$x", "type": "STRING", "evaluated_result": "20240101", "evaluated_time": 5},
    }
    end = shell(tmp_path, "echo before\n" + printing({"params": params}, after="echo after"))
    assert end.ending is Ending.DONE
    assert end.outputs == {"rows": 3, "day": "20240101"}


def test_later_outputs_win_and_the_file_goes_above_the_log(tmp_path: Path) -> None:
    def one(**values: int) -> str:
        return printing({"params": {name: {"value": n, "type": "LONG"} for name, n in values.items()}})

    end = shell(tmp_path, one(a=1, b=1, c=1) + one(b=2, c=2) + """echo '{"c": 3}' > "$CALVE_OUTPUT" """)
    assert end.outputs == {"a": 1, "b": 2, "c": 3}


def test_dynamic_signals_and_artifacts(tmp_path: Path) -> None:
    signals = [{"name": "db/t", "params": {"day": 5, "hour": {"value": "07", "type": "STRING"}}}]
    artifacts = {"maestro_dynamic_output": {"signal_outputs": signals}, "mine": {"x": 1}}
    end = shell(tmp_path, printing({"artifacts": artifacts}))
    assert end.signals == (SignalToSend("db/t", {"day": 5, "hour": "07"}),)
    assert end.artifacts == artifacts


def test_a_job_may_say_that_trying_again_is_of_no_use(tmp_path: Path) -> None:
    said = printing({"artifacts": {"maestro_retry": {"retryable": False}}})
    assert shell(tmp_path, said + "exit 1").ending is Ending.FATAL_ERROR
    assert shell(tmp_path, said + "exit 0").ending is Ending.DONE
    said = printing({"artifacts": {"maestro_retry": {"retryable": True}}})
    assert shell(tmp_path, said + "exit 1").ending is Ending.USER_ERROR


@pytest.mark.parametrize(
    ("script", "code", "names"),
    [
        ('echo "{" > "$CALVE_OUTPUT"', "STEP_OUTPUT_INVALID", "JSON"),
        ('echo "[1]" > "$CALVE_OUTPUT"', "STEP_OUTPUT_INVALID", "list"),
        ('printf "\\377" > "$CALVE_OUTPUT"', "STEP_OUTPUT_INVALID", "JSON"),
        ('mkdir "$CALVE_OUTPUT"', "STEP_OUTPUT_INVALID", "CALVE_OUTPUT"),
        (f'head -c {MAX_OUTPUT_BYTES + 1} /dev/zero > "$CALVE_OUTPUT"', "STEP_OUTPUT_TOO_BIG", "bytes"),
        (printing("{"), "STEP_OUTPUT_INVALID", "JSON"),
        (printing([1]), "STEP_OUTPUT_INVALID", "list"),
        (printing("[" * 100_000), "STEP_OUTPUT_INVALID", "JSON"),
        (printing({"params": {"a": 1}}), "PARAM_INVALID", "a"),
        (printing({"params": {"a": {"value": "x", "type": "LONG"}}}), "PARAM_TYPE", "a"),
        (printing({"artifacts": [1]}), "STEP_OUTPUT_INVALID", "artifacts"),
        (
            printing({"artifacts": {"maestro_dynamic_output": {"signal_outputs": [{"params": {}}]}}}),
            "STEP_OUTPUT_INVALID",
            "name",
        ),
        ('echo "$MAESTRO_OUTPUT_START"; echo "{}"', "STEP_OUTPUT_INVALID", "MAESTRO_OUTPUT_END"),
        (
            f'echo "$MAESTRO_OUTPUT_START"; head -c {MAX_OUTPUT_BYTES + 1000} /dev/zero',
            "STEP_OUTPUT_TOO_BIG",
            "bytes",
        ),
    ],
)
def test_wrong_outputs_fail_the_job_and_say_why(tmp_path: Path, script: str, code: str, names: str) -> None:
    end = shell(tmp_path, script)
    assert end.ending is Ending.USER_ERROR
    assert end.error is not None
    assert end.error.code == code
    assert names in end.error.message


def test_wrong_outputs_of_a_failed_job_do_not_hide_its_failure(tmp_path: Path) -> None:
    end = shell(tmp_path, 'echo "{" > "$CALVE_OUTPUT"; exit 4')
    assert end.error is not None
    assert "exit code 4" in end.error.message


def test_a_job_may_print_its_environment(tmp_path: Path) -> None:
    end = shell(tmp_path, "env; export -p; " + printing({"params": {"n": {"value": 1, "type": "LONG"}}}))
    assert (end.ending, end.outputs) == (Ending.DONE, {"n": 1})


def test_the_tokens_of_another_attempt_mean_nothing(tmp_path: Path) -> None:
    end = shell(tmp_path, "echo calve-output-start-other; echo '{broken'")
    assert end.ending is Ending.DONE


@given(
    parts=st.lists(
        st.tuples(st.binary(max_size=40), st.binary(max_size=40)).filter(
            lambda pair: b"<" not in pair[0] + pair[1] and b">" not in pair[0] + pair[1]
        ),
        max_size=5,
    ),
    chunk=st.integers(1, 30),
)
def test_outputs_are_found_wherever_the_chunks_are_cut(
    parts: list[tuple[bytes, bytes]], chunk: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    log = tmp_path_factory.mktemp("logs") / "log.txt"
    log.write_bytes(
        b"".join(noise + b"\n<<start>>" + block + b"<<end>>" for noise, block in parts) + b"<<sta"
    )
    with patch.object(output_log, "_CHUNK_BYTES", chunk):
        assert find_outputs(log, TOKENS) == [block for _, block in parts]


def test_a_log_that_is_not_there_has_no_outputs(tmp_path: Path) -> None:
    assert find_outputs(tmp_path / "none", TOKENS) == []
    assert tail(tmp_path / "none") == ""


def test_two_blocks_together_may_be_too_big(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    block = b"<<start>>" + b"x" * (MAX_OUTPUT_BYTES // 2 + 1) + b"<<end>>\n"
    log.write_bytes(block + block)
    with pytest.raises(UsageError, match="bytes"):
        find_outputs(log, TOKENS)


def test_the_tail_is_short_text_whatever_is_in_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_bytes(b"\xff\xfe\x00" * 1000 + b"\n" + "last ä".encode())
    assert tail(log).endswith("last ä")
    log.write_bytes(b"x" * 10_000_000)
    assert len(tail(log)) < 1000
    log.write_bytes(b"".join(b"line %d\n" % n for n in range(1000)))
    assert tail(log).splitlines()[-1] == "line 999"
    assert len(tail(log).splitlines()) <= 20
