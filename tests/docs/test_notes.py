"""What pages say to their tests is understood, or refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from calve.errors import UsageError
from support.docs.blocks import ROOT, Block, read_blocks
from support.docs.checks import check_block, check_command
from support.docs.notes import Notes, UnknownNoteError, read_note
from support.docs.running import needs_spark, outcome, run_page
from support.docs.smaller import smaller


def a_block(language: str, text: str, **words: str) -> Block:
    return Block(ROOT / "README.md", 1, language, text, Notes(words, "because"))


def test_words_are_read_with_their_values_and_the_reason() -> None:
    notes = read_note('<!-- docs-test: parse-only expect="two words" (it starts a JVM) -->')
    assert (notes.words, notes.reason) == ({"parse-only": "", "expect": "two words"}, "it starts a JVM")


@pytest.mark.parametrize(
    "note",
    [
        "<!-- docs-test: skip (no time) -->",
        "<!-- docs-test: needs=luck (of some) -->",
        "<!-- docs-test: parse-only -->",
        "<!-- docs-test: setup -->",
        "<!-- docs-test -->",
        "<!--docs-test: fill-->",
    ],
)
def test_what_no_test_heeds_is_refused(note: str) -> None:
    with pytest.raises(UnknownNoteError):
        read_note(note)


def test_a_note_before_no_block_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        Path, "read_text", lambda *a, **k: "<!-- docs-test: fill -->\ntext\n```sh\ntrue\n```\n"
    )
    with pytest.raises(UnknownNoteError, match="no block"):
        read_blocks(ROOT / "README.md")


def test_commands_may_not_hide_in_a_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda *a, **k: "```\ncalve push x.yaml\n```\n")
    with pytest.raises(AssertionError, match="sh or console"):
        read_blocks(ROOT / "README.md")


def test_an_option_that_is_not_there_is_found_without_running_it() -> None:
    check_command(["capture", "db.events", "--consumer", "daily"], "here")
    with pytest.raises(Exception, match="--consumers"):
        check_command(["capture", "db.events", "--consumers", "daily"], "here")
    with pytest.raises(AssertionError, match="no command"):
        check_command(["captrue"], "here")


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("yaml", "Workflow: {id: a, jobs: [{job: {id: b, type: Nope}}]}\n"),
        ("yaml", "strange: 1\n"),
        ("sql", "SELEC 1\n"),
        ("json", '{"a": }\n'),
        ("sh", "calve captrue db.events\n"),
        ("toml", "[icdc]\nnamespaces = 1\n"),
        ("python", "def\n"),
        ("sh", "make nothing\n"),
    ],
)
def test_a_wrong_block_is_found(language: str, text: str) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011  each language has errors of its own
        check_block(a_block(language, text))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("backfill", '{"workflow_id": "a", "from": "2024-01-01", "to": "2024-01-02", "group_by": "day"}'),
        ("backfill", '{"workflow_id": "a", "from": "1", "to": "2", "thresholds": {"max_lost_rows": 1}}'),
        ("signal", '{"params": {}}'),
        ("params", '{"n": {"type": "NUMBER", "value": 1}}'),
    ],
)
def test_a_body_that_would_be_refused_is_found(name: str, text: str) -> None:
    check_block(a_block("json", text))
    with pytest.raises((ValidationError, UsageError)):
        check_block(a_block("json", text, body=name))


def test_a_sketch_that_could_be_checked_is_refused() -> None:
    check_block(a_block("sql", "SELECT … FROM t\n", sketch=""))
    with pytest.raises(AssertionError, match="could be checked"):
        check_block(a_block("sql", "SELECT 1\n", sketch=""))


def test_blocks_run_in_order_and_stay_where_they_went(tmp_path: Path) -> None:
    blocks = [
        a_block("sh", "mkdir a\ncd a\necho '{\"n\": 5}'\n"),
        a_block("sh", "test $(basename $PWD) = a\necho <n> > b\n", fill=""),
        a_block("python", "from pathlib import Path\nfound = Path('b').read_text()\n"),
        a_block("python", "assert found == '5\\n'\n"),
        a_block("console", "$ cat b\n5\n"),
    ]
    assert {outcome(block) for block in blocks} == {"executed"}
    run_page(blocks, tmp_path / "project", {})


def test_a_command_that_fails_fails_the_page(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="false"):
        run_page([a_block("sh", "false\ntrue\n")], tmp_path / "project", {})


def test_a_command_is_told_what_to_read(tmp_path: Path) -> None:
    run_page([a_block("sh", "cat\n", input="two words", expect="two words")], tmp_path / "project", {})


def test_a_command_can_be_given_options_that_make_it_smaller() -> None:
    assert smaller("calve demo  # for you\n", "--days 1") == "calve demo --days 1\n"
    assert smaller("make demo\n", "--days 1") == "calve demo --home .demo --days 1\n"


def test_a_page_with_a_block_that_needs_spark_is_run_with_those_that_start_it() -> None:
    assert needs_spark([a_block("sh", "true\n"), a_block("sh", "true\n", needs="spark")])
    assert outcome(a_block("sh", "true\n", needs="spark")) == "executed"
    assert not needs_spark([a_block("sh", "true\n")])
