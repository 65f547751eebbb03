"""Shell steps."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from calve.settings import StepSettings
from calve.steps.contract import Ending
from calve.steps.shell import Shell
from support.steps import make_context, make_settings, run_to_end


def test_a_failure_names_the_exit_code_and_the_last_lines(tmp_path: Path) -> None:
    context = make_context(tmp_path, {"script": "echo working\necho 'no such table' >&2\nexit 7"})
    end = run_to_end(Shell(), context)
    assert end.ending is Ending.USER_ERROR
    assert end.error is not None
    assert end.error.code == "STEP_FAILED"
    assert "exit code 7" in end.error.message
    assert end.error.message.endswith("no such table")


def test_a_script_that_dies_by_a_signal_names_it(tmp_path: Path) -> None:
    end = run_to_end(Shell(), make_context(tmp_path, {"script": "kill -SEGV $$"}))
    assert end.ending is Ending.USER_ERROR
    assert end.error is not None
    assert "SIGSEGV" in end.error.message


def test_the_script_goes_on_after_a_failed_line_unless_it_says_otherwise(tmp_path: Path) -> None:
    assert run_to_end(Shell(), make_context(tmp_path, {"script": "false\ntrue"})).ending is Ending.DONE
    strict = make_context(tmp_path, {"script": "set -e\nfalse\ntrue"})
    assert run_to_end(Shell(), strict).ending is Ending.USER_ERROR


def test_ten_megabytes_in_one_line_are_harmless(tmp_path: Path) -> None:
    context = make_context(tmp_path, {"script": "head -c 10000000 /dev/zero | tr '\\0' x; exit 1"})
    end = run_to_end(Shell(), context)
    assert end.error is not None
    assert len(end.error.message) < 2000
    assert context.log_file.stat().st_size == 10_000_000


def test_unicode_and_binary_output_are_kept_as_they_are(tmp_path: Path) -> None:
    context = make_context(tmp_path, {"script": "printf 'ä ✓ \\377\\000\\n'; exit 2"})
    end = run_to_end(Shell(), context)
    assert context.log_file.read_bytes() == "ä ✓ ".encode() + b"\xff\x00\n"
    assert end.error is not None
    assert "ä ✓" in end.error.message


def test_a_script_of_half_a_megabyte_runs(tmp_path: Path) -> None:
    script = "\n".join(f"# {n:070}" for n in range(7000)) + "\necho done"
    context = make_context(tmp_path, {"script": script})
    assert run_to_end(Shell(), context).ending is Ending.DONE
    assert context.log_file.read_text() == "done\n"


def test_params_reach_the_script_by_file_and_by_variable(tmp_path: Path) -> None:
    own = {"region": "eu 'x", "n": 3, "on": True, "days": [1, 2], "conf": {"a": "b"}, "a-b.c": "dashed"}
    script = 'cat "$CALVE_PARAMS"; echo; env | grep ^CALVE_PARAM_ | sort; echo "$CALVE_PARAM_region"'
    context = make_context(tmp_path, {"script": script, **own})
    assert run_to_end(Shell(), context).ending is Ending.DONE
    params, *lines = context.log_file.read_text().splitlines()
    assert json.loads(params) == own
    assert lines == [
        "CALVE_PARAM_a_b_c=dashed",
        'CALVE_PARAM_conf={"a": "b"}',
        "CALVE_PARAM_days=[1, 2]",
        "CALVE_PARAM_n=3",
        "CALVE_PARAM_on=true",
        "CALVE_PARAM_region=eu 'x",
        "eu 'x",
    ]


def test_a_param_of_a_megabyte_is_in_the_file_and_not_in_the_environment(tmp_path: Path) -> None:
    script = 'wc -c < "$CALVE_PARAMS"; echo "${CALVE_PARAM_big-absent}"'
    context = make_context(tmp_path, {"script": script, "big": "x" * 1_000_000})
    assert run_to_end(Shell(), context).ending is Ending.DONE
    size, big = context.log_file.read_text().split()
    assert int(size) > 1_000_000
    assert big == "absent"


def test_env_is_added_and_a_value_that_does_not_fit_is_refused_for_good(tmp_path: Path) -> None:
    context = make_context(tmp_path, {"script": 'echo "$GREETING"', "env": {"GREETING": "hello"}})
    assert run_to_end(Shell(), context).ending is Ending.DONE
    assert context.log_file.read_text() == "hello\n"
    too_big = make_context(tmp_path, {"script": "true", "env": {"BIG": "x" * 1_000_000}})
    end = run_to_end(Shell(), too_big)
    assert end.ending is Ending.FATAL_ERROR
    assert end.error is not None
    assert "BIG" in end.error.message


def test_settings_of_the_engine_do_not_reach_the_job_unless_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CALVE_STATE_URL", "CALVE_OPEN", "PG_PASSWORD", "HARMLESS"):
        monkeypatch.setenv(name, f"value of {name}")
    settings = make_settings(
        tmp_path,
        steps=StepSettings(pass_environment=("CALVE_OPEN",), hide_environment=("PG_PASSWORD",)),
    )
    context = make_context(tmp_path, {"script": "env"}, settings=settings)
    assert run_to_end(Shell(), context).ending is Ending.DONE
    seen = dict(line.partition("=")[::2] for line in context.log_file.read_text().splitlines())
    assert "CALVE_STATE_URL" not in seen
    assert "PG_PASSWORD" not in seen
    assert seen["CALVE_OPEN"] == "value of CALVE_OPEN"
    assert seen["HARMLESS"] == "value of HARMLESS"
    assert seen["CALVE_HOME"] == str(settings.home)
    assert (seen["CALVE_WORKFLOW_ID"], seen["CALVE_STEP_ID"]) == ("demo", context.step_id)


def test_where_a_script_runs(tmp_path: Path) -> None:
    def place(settings: StepSettings, **own: str) -> str:
        context = make_context(
            tmp_path, {"script": "pwd", **own}, settings=make_settings(tmp_path, steps=settings)
        )
        end = run_to_end(Shell(), context)
        assert end.ending is Ending.DONE, end.error
        return os.path.relpath(context.log_file.read_text().strip(), context.place)

    assert place(StepSettings()) == "work"
    assert place(StepSettings(directory=tmp_path)) == ".."
    (tmp_path / "jobs").mkdir()
    assert place(StepSettings(directory=tmp_path), cwd="jobs") == "../jobs"
    assert place(StepSettings(), cwd=str(tmp_path / "jobs")) == "../jobs"


def test_a_directory_that_is_not_there_and_a_missing_script_are_refused_for_good(tmp_path: Path) -> None:
    for params, names in (({"script": "true", "cwd": "/no/such"}, "/no/such"), ({}, "script")):
        end = run_to_end(Shell(), make_context(tmp_path, params))
        assert end.ending is Ending.FATAL_ERROR
        assert end.error is not None
        assert names in end.error.message


def test_a_job_cannot_break_its_own_records_by_writing_where_it_runs(tmp_path: Path) -> None:
    context = make_context(tmp_path, {"script": "echo nonsense > exit; echo nonsense > process; exit 3"})
    end = run_to_end(Shell(), context)
    assert end.error is not None
    assert "exit code 3" in end.error.message


def test_a_daemon_of_a_done_job_does_not_keep_it_running(tmp_path: Path) -> None:
    context = make_context(tmp_path, {"script": "sleep 3600 & echo $! > pid"})
    assert run_to_end(Shell(), context).ending is Ending.DONE
    os.kill(int((context.place / "work" / "pid").read_text()), 9)
