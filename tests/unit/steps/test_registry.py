"""Which step types there are, and how packages add theirs."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from calve.errors import FailedError
from calve.steps import registry
from calve.steps.contract import Ending, Finished, Running
from calve.steps.process.wrapper import RECORD_FILE
from calve.steps.registry import RegisteredTypes
from calve.workflow.definition import STEP_TYPES, load_yaml
from support.steps import make_context, run_to_end, until

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[3] / "examples" / "steps"


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    registry.reload()
    yield
    registry.reload()


def install(site: Path, package: str, points: dict[str, str]) -> None:
    """A package as pip leaves it: what it offers stands in its .dist-info."""
    info = site / f"{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [f"{name} = {target}" for name, target in points.items()]
    (info / "entry_points.txt").write_text(f"[{registry.GROUP}]\n" + "\n".join(lines) + "\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for packages, on the path."""
    place = tmp_path / "site"
    place.mkdir()
    monkeypatch.syspath_prepend(str(place))
    return place


def test_types_are_found_in_any_case_of_letters() -> None:
    for written in ("NoOp", "noop", "NOOP"):
        found = registry.find(written)
        assert found is not None
        assert found.name == "NoOp"
    assert registry.find("nothing") is None


def test_every_built_in_type_is_one_of_the_language_and_carries_its_own_name() -> None:
    assert set(registry.BUILT_IN) <= set(STEP_TYPES)
    for name in registry.BUILT_IN:
        found = registry.find(name)
        assert found is not None
        assert found.name == name


def test_names_lists_all_of_them() -> None:
    assert set(registry.BUILT_IN) <= set(registry.names())


def test_the_registry_imports_no_type_until_it_is_asked_for() -> None:
    code = (
        "import sys, calve.steps.registry as registry; registry.names(); "
        "types = {target.partition(':')[0] for target in registry.BUILT_IN.values()}; "
        "heavy = types | {'httpx2', 'pyspark', 'psutil'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_required_params_are_asked_for_at_push() -> None:
    found = RegisteredTypes().find("shell")
    assert found is not None
    assert (found.name, found.template_of, set(found.required)) == ("Shell", None, {"script"})


def test_types_of_the_language_that_are_not_installed_are_accepted_in_definitions() -> None:
    types = RegisteredTypes()
    assert all(types.find(name) is not None for name in STEP_TYPES)
    assert set(STEP_TYPES) <= set(types.names())
    assert types.find("nothing") is None


def test_the_example_package_brings_a_type_of_its_own(site: Path, tmp_path: Path) -> None:
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    install(site, project["name"], project["entry-points"][registry.GROUP])
    for source in (EXAMPLE / "src").iterdir():
        (site / source.name).symlink_to(source)
    registry.reload()
    found = registry.find("batch")
    assert found is not None
    assert found.name == "Batch"
    assert "Batch" in registry.names()
    load_yaml(
        "Workflow: {id: w, jobs: [{job: {id: a, type: batch, job: 'true', queue: q}}]}",
        types=RegisteredTypes(),
    )
    queue = str(tmp_path / "queue")
    end = run_to_end(found, make_context(tmp_path, {"job": "echo 42", "queue": queue}))
    assert (end.ending, end.outputs) == (Ending.DONE, {"answer": "42"})
    end = run_to_end(found, make_context(tmp_path, {"job": "exit 3", "queue": queue}))
    assert end.ending is Ending.USER_ERROR
    context = make_context(tmp_path, {"job": "sleep 3600", "queue": queue})

    async def start_and_cancel() -> Running | Finished:
        started = await found.start(context)
        assert isinstance(started, Running)
        # Without its handle a job is found by what it runs with, once it does.
        await until((Path(queue) / context.attempt_uuid / RECORD_FILE).exists, "the job")
        await found.cancel(context, {})
        return await found.poll(context, started.handle)

    assert isinstance(asyncio.run(start_and_cancel()), Finished)


def test_a_broken_package_is_named_and_does_not_break_the_others(site: Path) -> None:
    (site / "broken_one.py").write_text("import no_such_library")
    (site / "broken_two.py").write_text("class Two:\n    name = 'Two'")
    (site / "good.py").write_text("from calve.steps.noop import NoOp\nclass Fine(NoOp):\n    name = 'Fine'")
    install(site, "broken-package", {"One": "broken_one:One", "Two": "broken_two:Two"})
    install(site, "good-package", {"Fine": "good:Fine"})
    registry.reload()
    for name, reason in (("One", "no_such_library"), ("Two", "start, poll, cancel")):
        with pytest.raises(FailedError, match="broken-package") as caught:
            registry.find(name)
        assert caught.value.code == "STEP_TYPE_BROKEN"
        assert reason in caught.value.message
    assert {"One", "Two", "Fine"} <= set(registry.names())
    assert registry.find("fine") is not None
    assert registry.find("Shell") is not None


def test_a_package_cannot_take_the_place_of_a_built_in_type(site: Path) -> None:
    (site / "impostor.py").write_text("raise SystemExit")
    install(site, "impostor-package", {"shell": "impostor:Shell"})
    registry.reload()
    found = registry.find("Shell")
    assert type(found).__module__ == "calve.steps.shell"
    assert "shell" not in registry.names()
