"""The params of a Spark step, and what they come to for its process."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from calve.errors import UsageError
from calve.settings import Settings
from calve.spark.files import write_private
from calve.spark.host.preparing import prepare_host
from calve.spark.properties import to_properties
from calve.spark.session import check_installed, session_conf
from calve.spark.step.spec import PROPERTIES_FILE, SessionMode, StepSpec
from calve.steps.contract import LOG_FILE, Options, StepContext
from calve.steps.incremental.chunks import session_of
from calve.steps.options import read_options
from calve.steps.paths import base_directory, working_directory
from calve.steps.script_tables import with_tables

_CONNECT_SCHEME = "sc://"
#: What is no SQL, and is what a file of Python is called.
_PYTHON_FILE = re.compile(r"[^\s;'\"]+\.py")


class SessionOptions(Options):
    """In which Spark to run."""

    #: Where it runs: in the JVM of the home, on a Spark Connect server, or by `spark-submit`. If it is not
    #: set, as `spark_url` or `master` imply, else as the settings say.
    session: SessionMode | None = None
    #: Settings of Spark for this step; all of them with `submit`, else those that can be set at run time.
    spark_conf: dict[str, str] = Field(default_factory=dict)
    #: The Spark Connect server: `sc://host:15002`.
    spark_url: str | None = None
    #: The master for `submit`.
    master: str | None = None
    #: Where `file` and modules are looked for. If it is not set, in `steps.directory`, or where the engine
    #: was started.
    cwd: str | None = None
    #: False: statements under a capture run again although they have landed.
    exactly_once: bool | None = None


class SparkOptions(SessionOptions):
    """What to run, and in which Spark."""

    section: ClassVar[str | None] = "spark"

    #: SQL, one or many statements, or the name of a Python file. One of script, file and main.
    script: str | None = None
    #: A PySpark script; the step's own params are its arguments.
    file: str | None = None
    #: A function, `module:function`, that is called with `(spark, params)`.
    main: str | None = Field(default=None, pattern=r"^\w+(\.\w+)*:\w+(\.\w+)*$")
    #: Arguments of the script, before the params.
    args: list[str] = Field(default_factory=list)

    @model_validator(mode="before")
    @classmethod
    def _script_may_be_a_file(cls, params: Mapping[str, Any]) -> Mapping[str, Any]:
        script = params.get("script")
        if not isinstance(script, str) or not _PYTHON_FILE.fullmatch(script.strip()):
            return params
        others = {name: value for name, value in params.items() if name != "script"}
        return {"file": script.strip(), **others}

    @model_validator(mode="after")
    def _one_thing_to_run(self) -> Self:
        given = [name for name in ("script", "file", "main") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"give one of script, file and main, found {' and '.join(given) or 'none'}")
        return self

    def mode(self, settings: Settings) -> SessionMode:
        """Where the step runs: as it says, else as its other params imply, else as the settings say."""
        if self.session is not None:
            return self.session
        if self.spark_url is not None:
            return "connect"
        return "submit" if self.master is not None else settings.spark.session


def make_spec(options_type: type[Options], context: StepContext, own: Mapping[str, Any]) -> StepSpec:
    """The spec of an attempt; `own` are the params that are no options of the type."""
    options = _read(options_type, context)
    settings = context.settings
    mode = options.mode(settings)
    if mode != "submit" or "SPARK_HOME" not in os.environ:
        check_installed()
    search = _search(options, context)
    chunk = session_of(context)
    spec = StepSpec(
        attempt=context.attempt_uuid,
        folder=str(context.folder.absolute()),
        log=str(context.folder.absolute() / LOG_FILE),
        session=mode,
        script=None if options.script is None else with_tables(options.script, chunk.names),
        file=None if options.file is None else str(search / Path(options.file).expanduser()),
        main=options.main,
        args=[*options.args, *(_arguments(own) if options.file is not None else ())],
        search=str((search / Path(options.file).expanduser()).parent if options.file else search),
        params=dict(context.params),
        declared=list(own),
        spark_conf={**options.spark_conf, **chunk.conf},
        views=chunk.views,
        host=str(prepare_host(settings).path) if mode == "embedded" else None,
        url=_url(options, settings) if mode == "connect" else None,
        master=options.master,
        java_home=None if settings.spark.java_home is None else str(settings.spark.java_home),
        home=str(settings.home),
    )
    if mode == "submit":
        _write_properties(spec, settings)
    return spec


def working_directory_of(options_type: type[Options], context: StepContext) -> Path | None:
    """Where the step's process runs."""
    return working_directory(context.settings.steps, _read(options_type, context).cwd)


def exactly_once(options_type: type[Options], context: StepContext) -> bool:
    """Whether what the step writes under a capture lands once."""
    return _read(options_type, context).exactly_once is not False


def _read(options_type: type[Options], context: StepContext) -> SparkOptions:
    options = read_options(options_type, context)
    assert isinstance(options, SparkOptions)
    return options


def _search(options: SparkOptions, context: StepContext) -> Path:
    steps = context.settings.steps
    return working_directory(steps, options.cwd) or base_directory(steps)


def _arguments(own: Mapping[str, Any]) -> list[str]:
    """Params as `--name value`: text as it is, anything else as JSON."""
    arguments: list[str] = []
    for name, value in own.items():
        arguments += [f"--{name}", value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)]
    return arguments


def _url(options: SparkOptions, settings: Settings) -> str:
    url = options.spark_url or settings.spark.url
    if url is None or not url.startswith(_CONNECT_SCHEME):
        found = "none is given" if url is None else f"found {url!r}"
        raise UsageError(
            "SPARK_URL_INVALID",
            f"'session: connect' needs a spark_url that begins with {_CONNECT_SCHEME}, {found}",
            "give spark_url, or set spark.url in calve.toml",
        )
    return url


def _write_properties(spec: StepSpec, settings: Settings) -> None:
    conf = session_conf(settings)
    if spec.master is not None:
        conf["spark.master"] = spec.master
    if not conf["spark.master"].startswith("local"):
        # Executors elsewhere have to reach the driver.
        for key in ("spark.driver.bindAddress", "spark.driver.host"):
            if key not in settings.spark.conf:
                del conf[key]
    # Spark would tell the step's log about every task.
    conf.setdefault("spark.log.level", "WARN")
    conf |= spec.spark_conf
    write_private(Path(spec.folder) / PROPERTIES_FILE, to_properties(conf))
