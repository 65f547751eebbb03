"""What runs inside the process of a Python step: `python python_main.py call.json`.

It imports nothing but the standard library, so that a step may name any interpreter. The call says what to
run; params come from the file that `CALVE_PARAMS` names, outputs go to the file that `CALVE_OUTPUT` names.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    # Python puts the folder of this file first, where a step type may be named like a standard module.
    sys.path.pop(0)

import asyncio
import importlib
import inspect
import json
import os
import runpy
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def run(call: Mapping[str, Any]) -> object:
    """Run what the call names; what it gives back are the outputs."""
    sys.path.insert(0, call["path"])
    params = _read_params()
    if call["kind"] == "main":
        return call_main(_find(call["target"]), call["args"], params)
    sys.argv = [call["target"], *call["args"]]
    if call["kind"] == "file":
        runpy.run_path(call["target"], run_name="__main__")
        return None
    names: dict[str, Any] = {"params": params, "outputs": {}}
    return runpy.run_path(call["target"], init_globals=names, run_name="__main__").get("outputs")


def call_main(function: Callable[..., Any], args: list[str], params: Mapping[str, Any]) -> object:
    """Call a function with the params that it names; an async one is run to its end."""
    given = inspect.signature(function).parameters.values()
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in given)
    named = {parameter.name for parameter in given if parameter.kind is not parameter.POSITIONAL_ONLY}
    result = function(*args, **{name: value for name, value in params.items() if takes_all or name in named})
    return asyncio.run(result) if inspect.iscoroutine(result) else result


def write_outputs(result: object) -> None:
    """Keep what was given back, above what the job wrote into the file by itself."""
    if result is None:
        return
    if not isinstance(result, Mapping):
        raise TypeError(f"the outputs are a {type(result).__name__}, expected a dict of params, or None")
    file = Path(os.environ["CALVE_OUTPUT"])
    before = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    text = json.dumps({**before, **result}, allow_nan=False)
    complete = file.with_suffix(".tmp")
    complete.write_text(text, encoding="utf-8")
    complete.replace(file)


def _read_params() -> dict[str, Any]:
    return dict(json.loads(Path(os.environ["CALVE_PARAMS"]).read_text(encoding="utf-8")))


def _find(target: str) -> Callable[..., Any]:
    module, _, path = target.partition(":")
    found: Any = importlib.import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    if not callable(found):
        raise TypeError(f"{target} is a {type(found).__name__}, expected a function")
    return found  # type: ignore[no-any-return]


def main() -> int:
    """Run the call of the command line; an exception is written to the log, and its last line kept."""
    call = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    try:
        write_outputs(run(call))
    except Exception as error:  # noqa: BLE001  every failure of the job ends here, as an exit code
        traceback.print_exc()
        last = "".join(traceback.format_exception_only(error)).strip()
        Path(call["error"]).write_text(last, encoding="utf-8", errors="replace")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
