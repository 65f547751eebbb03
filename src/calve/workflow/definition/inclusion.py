"""Texts from other files: `$FILE{path}` and `$S3{path}` in a literal are replaced when it is pushed.

A path is relative to the folder of the workflow and does not leave it; `$S3{s3://bucket/key}` names an
object. What is read is part of the version from then on. `$$FILE{…}` is left as it is.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Protocol

from calve.errors import CalveError
from calve.workflow.definition.problems import Problems
from calve.workflow.definition.tree import Node, Position

INCLUDED_SIZE_LIMIT = 256 * 1024

_INCLUSION = re.compile(r"(?<!\$)((?:\$\$)*)\$(FILE|S3)\{([^{}]*)\}")
_OBJECT_SCHEMES = ("s3://", "s3a://", "gs://", "abfs://", "abfss://")


class FileReader(Protocol):
    """Reads texts for inclusion; a CalveError says why it cannot."""

    def read_file(self, path: str) -> str:
        """The text of a file beside the workflow; the path is relative and stays inside its folder."""

    def read_object(self, url: str) -> str:
        """The text of an object in object storage."""


def include_files(
    tree: Node,
    files: FileReader | None,
    problems: Problems,
    *,
    in_params: bool = False,
    in_value: bool = False,
) -> Node:
    """The tree with the texts of the files in the place of their names: in literals of params only."""
    if tree.is_map:
        values = {
            key: include_files(
                node,
                files,
                problems,
                in_params=in_params or key == "params",
                in_value=in_value or (in_params and key == "value"),
            )
            for key, node in tree.value.items()
        }
        return Node(values, tree.at, tree.keys)
    if tree.is_list:
        items = tree.items()
        return Node(
            [include_files(node, files, problems, in_params=in_params, in_value=in_value) for node in items],
            tree.at,
        )
    text = tree.text
    if text is None or not in_value or _INCLUSION.search(text) is None:
        return tree
    included = _INCLUSION.sub(
        lambda found: found[1] + _include(found[2], found[3], tree.at, files, problems), text
    )
    return Node(included, tree.at)


def _include(scheme: str, written: str, at: Position, files: FileReader | None, problems: Problems) -> str:
    path = written.strip()
    is_object = scheme == "S3" and path.lower().startswith(_OBJECT_SCHEMES)
    if not is_object and not _stays_inside(path):
        problems.error(
            "INCLUDE_OUTSIDE",
            f"'{path}' is outside of the folder of the workflow",
            at,
            found=path,
            expected="a path below the folder of the workflow",
        )
        return ""
    if files is None:
        problems.error(
            "INCLUDE_UNAVAILABLE",
            f"'{path}' cannot be read here",
            at,
            found=path,
            expected="a text",
            remedy="Push the file with 'calve push', which reads what it includes.",
        )
        return ""
    try:
        text = files.read_object(path) if is_object else files.read_file(str(PurePosixPath(path)))
    except CalveError as error:
        problems.error(
            error.code, f"'{path}' cannot be included: {error.message}", at, found=path, remedy=error.remedy
        )
        return ""
    if len(text.encode("utf-8", "surrogatepass")) > INCLUDED_SIZE_LIMIT:
        problems.error(
            "FILE_TOO_BIG",
            f"'{path}' is too big",
            at,
            found=path,
            expected=f"at most {INCLUDED_SIZE_LIMIT:,} bytes",
        )
        return ""
    return text


def _stays_inside(path: str) -> bool:
    pure = PurePosixPath(path.replace("\\", "/"))
    return bool(pure.parts) and not (pure.is_absolute() or ".." in pure.parts or ":" in path)
