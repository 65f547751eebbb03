"""What Calve knows about its surroundings: the home, the catalogs, the state database, Spark.

Two layers make the settings: `calve.toml` in the home, and above it the environment
(`CALVE_STATE_URL`, `CALVE_ICDC__TTL`, `CALVE_CATALOGS__LAKE__S3__ENDPOINT`). Secrets stay out of
the file: a catalog's properties may say `${NAME}`, or `key_file = "/path"` for `key`.
"""

from __future__ import annotations

import os
import re
import tomllib
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    model_validator,
)
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from calve.errors import UsageError

SETTINGS_FILE = "calve.toml"
EMBEDDED_CATALOG = "lake"
EMBEDDED_PROPERTIES = {
    "type": "sql",
    "uri": "sqlite:///${home}/catalog.db",
    "warehouse": "file://${home}/warehouse",
}

_DURATION = re.compile(r"(\d+)\s*([smhdw])")
_DURATION_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_POSTGRES = re.compile(r"^postgres(ql)?://")
# PyIceberg's few properties that are spelled with an underscore.
_UNDERSCORED = frozenset({"pool_pre_ping", "init_catalog_tables", "schema_version"})


def parse_duration(text: object) -> object:
    """`45s`, `30m`, `12h`, `7d`, `2w` as a timedelta; anything else is left to the type."""
    match = _DURATION.fullmatch(text.strip().lower()) if isinstance(text, str) else None
    if match is None:
        return text
    return timedelta(**{_DURATION_UNITS[match[2]]: int(match[1])})


def _flatten(raw: object, prefix: str = "") -> dict[str, str]:
    """Nested tables as dotted keys: TOML reads `s3.endpoint = …` as a table of its own."""
    if not isinstance(raw, dict):
        raise ValueError("expected a table of properties")
    flat: dict[str, str] = {}
    for key, value in raw.items():
        if isinstance(value, dict):
            flat.update(_flatten(value, f"{prefix}{key}."))
        elif isinstance(value, bool):
            flat[prefix + key] = str(value).lower()
        elif isinstance(value, str | int | float):
            flat[prefix + key] = str(value)
        else:
            raise ValueError(f"{prefix}{key}: expected a string, found {type(value).__name__}")
    return flat


def _hyphenate(raw: object) -> dict[str, str]:
    """Environment names cannot hold a hyphen, PyIceberg's property names do."""

    def rename(key: str) -> str:
        if key in _UNDERSCORED:
            return key
        stem = key.removesuffix("_file")
        return stem.replace("_", "-") + key[len(stem) :]

    return {rename(key): value for key, value in _flatten(raw).items()}


def _split(raw: object) -> object:
    """A list that came from the environment is one string, with commas."""
    return tuple(filter(None, raw.replace(" ", "").split(","))) if isinstance(raw, str) else raw


Duration = Annotated[timedelta, BeforeValidator(parse_duration)]
Properties = Annotated[dict[str, str], BeforeValidator(_flatten)]
Names = Annotated[tuple[str, ...], BeforeValidator(_split)]
CatalogProperties = Annotated[dict[str, str], BeforeValidator(_hyphenate)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class IcdcSettings(_Frozen):
    """Where ICDC tables live, and how long one that nobody committed is kept."""

    #: The namespace in which ICDC tables are registered, in the catalog of their source.
    namespace: str = Field(default="icdc", min_length=1)
    #: Where their metadata is written: a folder, or a prefix on object storage. If it is not set, `_icdc` in
    #: the catalog's warehouse.
    location: str | None = None
    #: False: ICDC tables have no name in the catalog, and are read by the path of their metadata.
    register_tables: bool = True
    #: How old what crashes and `calve changes` left behind has to be for `calve gc` to remove it, and how
    #: long a capture may stay open before it is reported.
    ttl: Duration = timedelta(days=7)


class SparkSettings(_Frozen):
    """How Calve starts Spark. `conf` goes above everything Calve itself sets."""

    #: The master of the Spark that Calve starts: how many cores of this machine, or a cluster.
    master: str = "local[*]"
    #: Settings of Spark, above those that Calve itself sets: `[spark.conf]` with one line for each.
    conf: Properties = Field(default_factory=dict)
    #: Further packages from Maven for Spark, as `group:artifact:version`, beside those that catalogs need.
    packages: Names = ()
    #: The Java for Spark. If it is not set, that of `JAVA_HOME`, of the `PATH`, or of the extra
    #: `calve[spark]`.
    java_home: Path | None = None
    #: Where Spark steps run that do not say it themselves.
    session: Literal["embedded", "connect", "submit"] = "embedded"
    #: The Spark Connect server of steps that do not name one.
    url: str | None = None
    #: How long the embedded Spark stays up without a step.
    idle_timeout: Duration = timedelta(minutes=15)


class StepSettings(_Frozen):
    """How jobs run as processes of this host."""

    #: Where jobs run that name no directory, and what their relative paths begin at. If it is not set they
    #: run in a folder of their attempt, and relative paths begin where the engine was started.
    directory: Path | None = None
    #: How long a job that is cancelled may take to end by itself.
    grace: Duration = timedelta(seconds=10)
    #: Variables of the engine that jobs get although their names begin with CALVE_.
    pass_environment: Names = ()
    #: Variables of the engine that jobs do not get.
    hide_environment: Names = ()


class HttpSettings(_Frozen):
    """Which hosts the Http steps may call: all if `allowed_hosts` is not set, none if it is empty."""

    #: Hosts by name or pattern, such as `*.internal`.
    allowed_hosts: Names | None = None
    #: How long a call may take to connect, and how long between two parts of an answer.
    timeout: Duration = timedelta(seconds=60)


class EngineSettings(_Frozen):
    """How engines share a state."""

    #: An engine that does not answer for so long is taken for dead, and others take its runs.
    lease: Duration = timedelta(seconds=15)
    #: How often the tables of incremental triggers are looked at, should nothing tell of a change before.
    table_poll: Duration = Field(default=timedelta(seconds=5), gt=timedelta())


class ApiSettings(_Frozen):
    """Where the server listens. On any address but the machine's own it takes a token to use it."""

    #: The address to listen on.
    host: str = Field(default="127.0.0.1", min_length=1)
    #: The port to listen on; 0 takes a free one.
    port: int = Field(default=8080, ge=0, le=65535)
    #: What callers send as `Authorization: Bearer …`; commands that talk to a server send it too.
    token: SecretStr | None = None
    #: A file with the token in it.
    token_file: Path | None = None

    def secret(self) -> str | None:
        """The token, from wherever it is kept."""
        if self.token is not None:
            return self.token.get_secret_value()
        return None if self.token_file is None else _read_secret(self.token_file, "api.token_file")


class Settings(_Frozen):
    """The settings in force. `catalogs` is as written; `catalog_properties` has the secrets in place."""

    #: The folder of all that Calve keeps. Not in the file: `CALVE_HOME`, else `./.calve` if it is there, else
    #: `~/.calve`.
    home: Path
    #: `[catalogs.NAME]` with PyIceberg's properties. Without any there is `lake`: a catalog and a warehouse
    #: in the home.
    catalogs: dict[str, CatalogProperties] = Field(default_factory=dict, repr=False)
    #: The catalog of tables that are named without one, where there are several catalogs.
    default_catalog: str | None = None
    #: The database of the state, SQLite or PostgreSQL. If it is not set, `state.db` in the home.
    state_url: str = Field(default="", repr=False)
    icdc: IcdcSettings = Field(default_factory=IcdcSettings)
    spark: SparkSettings = Field(default_factory=SparkSettings)
    engine: EngineSettings = Field(default_factory=EngineSettings)
    steps: StepSettings = Field(default_factory=StepSettings)
    http: HttpSettings = Field(default_factory=HttpSettings)
    api: ApiSettings = Field(default_factory=ApiSettings)

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, raw: dict[str, Any]) -> dict[str, Any]:
        filled = {key: value for key, value in raw.items() if value not in (None, {}, "")}
        filled.setdefault("catalogs", {EMBEDDED_CATALOG: dict(EMBEDDED_PROPERTIES)})
        filled.setdefault("state_url", "sqlite:///${home}/state.db")
        filled["state_url"] = driver_url(expand(filled["state_url"], Path(filled["home"]), "state_url"))
        return filled

    @model_validator(mode="after")
    def _check_default(self) -> Settings:
        if self.default_catalog is not None and self.default_catalog not in self.catalogs:
            raise ValueError(
                f"default_catalog is {self.default_catalog!r}, but the catalogs are {sorted(self.catalogs)}"
            )
        return self

    def catalog_properties(self, name: str) -> dict[str, str]:
        """The properties of a catalog with `${NAME}` and `key_file` resolved: it holds secrets."""
        properties: dict[str, str] = {}
        for key, value in self.catalogs[name].items():
            where = f"catalogs.{name}.{key}"
            text = expand(value, self.home, where)
            name_of = key.removesuffix("_file")
            if name_of != key:
                text = _read_secret(Path(text), where)
            properties[name_of] = driver_url(text) if name_of == "uri" else text
        return properties

    def ensure_home(self) -> Path:
        """The home directory, made if it is not there yet."""
        try:
            self.home.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                "HOME_NOT_WRITABLE",
                f"the home {self.home} cannot be made: {error.strerror}",
                "set CALVE_HOME to a directory that you may write to",
            ) from error
        return self.home


class _Layers(BaseSettings):
    """The file and the environment laid over each other, the environment on top."""

    model_config = SettingsConfigDict(env_prefix="CALVE_", env_nested_delimiter="__", extra="forbid")

    catalogs: dict[str, Any] = Field(default_factory=dict)
    default_catalog: str | None = None
    state_url: str | None = None
    icdc: dict[str, Any] = Field(default_factory=dict)
    spark: dict[str, Any] = Field(default_factory=dict)
    engine: dict[str, Any] = Field(default_factory=dict)
    steps: dict[str, Any] = Field(default_factory=dict)
    http: dict[str, Any] = Field(default_factory=dict)
    api: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return env_settings, init_settings


def find_home() -> Path:
    """`CALVE_HOME`, else `./.calve` if it is there, else `~/.calve`."""
    if named := os.environ.get("CALVE_HOME"):
        return Path(named).expanduser().absolute()
    local = Path.cwd() / ".calve"
    return local if local.is_dir() else Path.home() / ".calve"


def load_settings(home: Path | None = None) -> Settings:
    """The settings of a home. Nothing is made or written; wrong settings are a `UsageError`."""
    place = find_home() if home is None else home.expanduser().absolute()
    file = place / SETTINGS_FILE
    try:
        layers = _Layers(**_read_toml(file))
        return Settings.model_validate({"home": place, **layers.model_dump()})
    except ValidationError as error:
        raise _invalid(_describe(error), file) from error
    except ValueError as error:
        raise _invalid(str(error), file) from error


def driver_url(url: str) -> str:
    """A database URL with the driver named: SQLAlchemy's own choice for PostgreSQL depends on its version."""
    return _POSTGRES.sub("postgresql+psycopg://", url)


def expand(text: str, home: Path, where: str) -> str:
    """`${home}` is the home directory, every other `${NAME}` comes from the environment."""

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if name == "home":
            return str(home)
        if name not in os.environ:
            raise UsageError(
                "SETTINGS_SECRET_MISSING",
                f"{where} needs ${{{name}}}, and the environment has no {name}",
                f"set {name} in the environment",
            )
        return os.environ[name]

    return _VARIABLE.sub(value, text)


def _read_secret(path: Path, where: str) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            "SETTINGS_SECRET_MISSING",
            f"{where} names {path}, which cannot be read: {error}",
            "check the path and its rights",
        ) from error


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise _invalid(str(error), file) from error


def _describe(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    return f"{where}: {message}" if where else message


def _invalid(reason: str, file: Path) -> UsageError:
    return UsageError(
        "SETTINGS_INVALID", f"the settings are wrong: {reason}", f"correct {file} or the CALVE_… environment"
    )
