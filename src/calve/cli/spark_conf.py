"""`calve spark-conf`: the settings that join any Spark to the lake."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from calve.cli.output import JsonOption, emit

if TYPE_CHECKING:
    from rich.console import Console


class Format(StrEnum):
    """How the settings are written."""

    PROPERTIES = "properties"
    ARGS = "args"
    PYTHON = "python"


def spark_conf(
    form: Annotated[
        Format,
        typer.Option(
            "--format",
            help="properties: for spark-defaults.conf or --properties-file; "
            "args: for spark-sql, spark-submit and pyspark; python: for a notebook.",
        ),
    ] = Format.PROPERTIES,
    json_output: JsonOption = False,
) -> None:
    """Print the settings that let any Spark 4.1 join the lake. They include the catalogs' secrets."""
    from calve.settings import load_settings
    from calve.spark.conf import spark_conf as derive

    conf = derive(load_settings())

    def render(console: Console) -> None:
        console.out(_WRITERS[form](conf), highlight=False)

    emit({"conf": conf, "packages": conf["spark.jars.packages"].split(",")}, json_output, render)


def as_properties(conf: dict[str, str]) -> str:
    """One `key value` per line, as in spark-defaults.conf."""
    return "\n".join(f"{key} {_escape(value)}" for key, value in conf.items())


def as_args(conf: dict[str, str]) -> str:
    """Options for spark-submit and its kin, quoted for a shell where that is needed."""
    return " ".join(f"--conf {shlex.quote(f'{key}={value}')}" for key, value in conf.items())


def as_python(conf: dict[str, str]) -> str:
    """Python that gives a session."""
    options = "\n".join(f"    .config({key!r}, {value!r})" for key, value in conf.items())
    opening = "from pyspark.sql import SparkSession\n\nspark = (\n    SparkSession.builder"
    return f"{opening}\n{options}\n    .getOrCreate()\n)"


def _escape(value: str) -> str:
    """Java's properties files take a backslash for an escape."""
    return value.replace("\\", "\\\\")


_WRITERS: dict[Format, Callable[[dict[str, str]], str]] = {
    Format.PROPERTIES: as_properties,
    Format.ARGS: as_args,
    Format.PYTHON: as_python,
}
