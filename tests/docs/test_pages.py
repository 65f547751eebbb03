"""Every command and code block of the README and the documentation is executed, or says why it is not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from calve.cli.project import project_files, write_project
from support.docs.blocks import PROJECT_README, page_name, pages, read_blocks
from support.docs.checks import check_block
from support.docs.running import needs_session, needs_spark, outcome, run_page
from support.docs.setups import SETUPS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGES = [page for page in pages() if read_blocks(page)]
RUNNING = [page for page in PAGES if any(outcome(block) == "executed" for block in read_blocks(page))]
IN_SPARK = [page for page in RUNNING if needs_spark(read_blocks(page))]
IN_SESSION = [page for page in IN_SPARK if needs_session(read_blocks(page))]


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_the_blocks_of_a_page_are_right_to_look_at(page: Path) -> None:
    for block in read_blocks(page):
        check_block(block)


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in RUNNING if page not in IN_SPARK], ids=page_name)
def test_the_blocks_of_a_page_run(page: Path, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    if page == PROJECT_README:
        write_project(folder, project_files("python"))
    run_page(read_blocks(page), folder, SETUPS)


@pytest.mark.slow
@pytest.mark.jvm
@pytest.mark.parametrize("page", [page for page in IN_SPARK if page not in IN_SESSION], ids=page_name)
def test_the_commands_of_a_page_run_with_spark(page: Path, tmp_path: Path) -> None:
    run_page(read_blocks(page), tmp_path / "project", SETUPS)


@pytest.mark.slow
@pytest.mark.parametrize("page", IN_SESSION, ids=page_name)
def test_the_blocks_of_a_page_run_in_a_session(page: Path, tmp_path: Path, spark: SparkSession) -> None:
    run_page(read_blocks(page), tmp_path / "project", SETUPS, spark)


def test_no_block_is_passed_over_in_silence() -> None:
    """What is not executed says so in the page, with the reason; here is how many there are of each."""
    blocks = [block for page in PAGES for block in read_blocks(page)]
    counted = Counter(outcome(block) for block in blocks)
    print(", ".join(f"{count} {what}" for what, count in sorted(counted.items())))
    assert sum(counted.values()) == len(blocks)
    assert all(block.notes.reason for block in blocks if block.notes.is_only_checked)
    assert counted["executed"] > 20 * counted["parsed only"]
