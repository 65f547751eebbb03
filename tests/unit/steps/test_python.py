"""Python steps."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from calve.steps.contract import Ending, Finished, StepContext
from calve.steps.python import Python
from support.steps import make_context, run_to_end

pytestmark = pytest.mark.slow

MODULE = """
import sys

def add(a, b=1):
    return {"total": a + b}

def everything(*args, **params):
    return {"args": list(args), "names": sorted(params)}

async def later(a):
    return {"total": a}

def nothing():
    print("said")

def fail(a):
    raise ValueError(f"bad value {a}")

def wrong():
    return 5

def not_json():
    return {"a": object()}

def leave():
    sys.exit("no more")

class Jobs:
    @staticmethod
    def run():
        return {"ok": True}

not_callable = 3
"""


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    (tmp_path / "jobs_module.py").write_text(MODULE)
    return tmp_path


def run(place: Path, **params: Any) -> tuple[Finished, StepContext]:
    context = make_context(place, {"cwd": str(place), **params})
    return run_to_end(Python(), context), context


@pytest.mark.parametrize(
    ("params", "outputs"),
    [
        ({"main": "jobs_module:add", "a": 2}, {"total": 3}),
        ({"main": "jobs_module:add", "a": 2, "b": 5, "total": 0}, {"total": 7}),
        ({"main": "jobs_module:everything", "x": 1, "args": ["p"]}, {"args": ["p"], "names": ["x"]}),
        ({"main": "jobs_module:later", "a": 4}, {"total": 4}),
        ({"main": "jobs_module:nothing"}, {}),
        ({"main": "jobs_module:Jobs.run"}, {"ok": True}),
        ({"code": "outputs['n'] = params['a'] * 2", "a": 4}, {"n": 8}),
        ({"code": "x = 1"}, {}),
    ],
)
def test_what_is_called_gets_the_params_and_gives_outputs(
    jobs: Path, params: dict[str, Any], outputs: dict[str, Any]
) -> None:
    end, _ = run(jobs, **params)
    assert (end.ending, end.error) == (Ending.DONE, None)
    assert end.outputs == outputs


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"main": "jobs_module:fail", "a": 3}, "ValueError: bad value 3"),
        ({"main": "jobs_module:add"}, "missing 1 required positional argument: 'a'"),
        ({"main": "jobs_module:wrong"}, "the outputs are a int"),
        ({"main": "jobs_module:not_json"}, "not JSON serializable"),
        ({"main": "jobs_module:leave"}, "no more"),
        ({"main": "jobs_module:not_callable"}, "expected a function"),
        ({"main": "jobs_module:nope"}, "AttributeError"),
        ({"main": "no_such_module:f"}, "ModuleNotFoundError"),
        ({"file": "nowhere.py"}, "FileNotFoundError"),
        ({"code": "1 +"}, "SyntaxError"),
        ({"code": "raise ValueError('ä')"}, "ValueError: ä"),
    ],
)
def test_a_failure_says_the_exception(jobs: Path, params: dict[str, Any], says: str) -> None:
    end, context = run(jobs, **params)
    assert end.ending is Ending.USER_ERROR
    assert end.error is not None
    assert says in end.error.message
    assert says in context.log_file.read_text()


def test_the_traceback_is_in_the_log_and_not_in_the_error(jobs: Path) -> None:
    end, context = run(jobs, main="jobs_module:fail", a=1)
    assert end.error is not None
    assert "Traceback" not in end.error.message
    assert 'raise ValueError(f"bad value {a}")' in context.log_file.read_text()


def test_a_script_gets_its_arguments_and_its_own_folder(jobs: Path) -> None:
    (jobs / "sub").mkdir()
    (jobs / "sub" / "helper.py").write_text("WORD = 'helped'")
    (jobs / "sub" / "load.py").write_text(
        "import sys, helper\nif __name__ == '__main__': print(helper.WORD, sys.argv[1:])"
    )
    end, context = run(jobs, file="sub/load.py", args=["a b", "c"])
    assert end.ending is Ending.DONE, end.error
    assert context.log_file.read_text() == "helped ['a b', 'c']\n"


def test_output_is_not_held_back(jobs: Path) -> None:
    end, context = run(jobs, code="import os\nprint('first')\nos._exit(3)")
    assert end.ending is Ending.USER_ERROR
    assert context.log_file.read_text() == "first\n"


def test_standard_modules_are_not_hidden_by_step_types(jobs: Path) -> None:
    end, context = run(jobs, code="import http, http.client; print(http.client.__name__)")
    assert end.ending is Ending.DONE, end.error
    assert context.log_file.read_text() == "http.client\n"


def test_another_interpreter(jobs: Path) -> None:
    fake = jobs / "my-python"
    fake.write_text(f'#!/bin/sh\necho mine\nexec {sys.executable} -S "$@"\n')
    fake.chmod(0o755)
    end, context = run(jobs, code="print(__import__('sys').flags.no_site)", python=str(fake))
    assert end.ending is Ending.DONE, end.error
    assert context.log_file.read_text() == "mine\n1\n"


def test_an_interpreter_that_is_not_there(jobs: Path) -> None:
    end, _ = run(jobs, code="1", python="/no/such/python")
    assert end.ending is Ending.USER_ERROR
    assert end.error is not None
    assert "/no/such/python" in end.error.message


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({}, "found none"),
        ({"main": "a:b", "code": "1"}, "main and code"),
        ({"main": "no function"}, "main"),
    ],
)
def test_wrong_options_are_refused_for_good(jobs: Path, params: dict[str, Any], says: str) -> None:
    end, _ = run(jobs, **params)
    assert end.ending is Ending.FATAL_ERROR
    assert end.error is not None
    assert says in end.error.message
