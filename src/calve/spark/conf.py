"""Spark's settings for the configured catalogs, so that Spark and PyIceberg see one lake."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from calve.errors import UsageError

if TYPE_CHECKING:
    from sqlalchemy import URL

    from calve.settings import Settings

ICEBERG_VERSION = "1.12.0"
RUNTIME = f"org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:{ICEBERG_VERSION}"
AWS_BUNDLE = f"org.apache.iceberg:iceberg-aws-bundle:{ICEBERG_VERSION}"
SQLITE_DRIVER = "org.xerial:sqlite-jdbc:3.50.3.0"
POSTGRES_DRIVER = "org.postgresql:postgresql:42.7.8"

_EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
_CATALOG_CLASS = "org.apache.iceberg.spark.SparkCatalog"
_S3_FILE_IO = "org.apache.iceberg.aws.s3.S3FileIO"
_S3_SCHEMES = ("s3://", "s3a://", "s3n://")
_BUSY_MILLISECONDS = "15000"
# Properties that only PyIceberg understands.
_PYTHON_ONLY = frozenset(
    {"py-io-impl", "py-catalog-impl", "echo", "pool_pre_ping", "init_catalog_tables", "schema_version"}
)
_RENAMED = {"s3.region": "client.region", "glue.region": "client.region"}


@dataclass(frozen=True, slots=True)
class CatalogConf:
    """One catalog in Spark's words: its properties, and the packages they need."""

    properties: dict[str, str]
    packages: tuple[str, ...] = ()


def spark_conf(settings: Settings) -> dict[str, str]:
    """The settings that join a Spark to all configured catalogs. They hold the catalogs' secrets."""
    conf = {"spark.sql.extensions": _EXTENSIONS}
    packages = [RUNTIME]
    for name in settings.catalogs:
        catalog = catalog_conf(name, settings.catalog_properties(name))
        packages += catalog.packages
        prefix = f"spark.sql.catalog.{name}"
        conf[prefix] = _CATALOG_CLASS
        conf |= {f"{prefix}.{key}": value for key, value in catalog.properties.items()}
    default = settings.default_catalog or (
        next(iter(settings.catalogs)) if len(settings.catalogs) == 1 else None
    )
    if default is not None:
        conf["spark.sql.defaultCatalog"] = default
    conf["spark.jars.packages"] = ",".join(dict.fromkeys([*packages, *settings.spark.packages]))
    return conf | settings.spark.conf


def catalog_conf(name: str, properties: dict[str, str]) -> CatalogConf:
    """PyIceberg's properties of a catalog as Iceberg's Java library takes them.

    Raises `UsageError` CATALOG_NOT_FOR_SPARK for a kind that has no counterpart there.
    """
    kind = _kind(name, properties)
    common = {
        _RENAMED.get(key, key): value
        for key, value in properties.items()
        if key not in _PYTHON_ONLY and key not in {"type", "uri", "s3.force-virtual-addressing"}
    }
    # Spark would otherwise not see for 30 seconds what PyIceberg has written.
    common["cache-enabled"] = "false"
    specific = _sql(properties["uri"]) if kind == "sql" else _plain(kind, properties)
    storage = _storage(properties)
    needs_aws = storage.packages or kind == "glue"
    return CatalogConf(
        {**specific.properties, **common, **storage.properties},
        (*specific.packages, *((AWS_BUNDLE,) if needs_aws else ())),
    )


def _kind(name: str, properties: dict[str, str]) -> str:
    uri = properties.get("uri", "")
    kind = properties.get("type", "").lower()
    if not kind:
        kind = (
            "sql"
            if uri.startswith(("sqlite", "postgresql"))
            else "hive"
            if uri.startswith("thrift")
            else "rest"
        )
    if kind not in {"sql", "rest", "hive", "glue"} or (
        kind == "sql" and not uri.startswith(("sqlite", "postgresql"))
    ):
        raise UsageError(
            "CATALOG_NOT_FOR_SPARK",
            f"catalog {name} is of the kind {kind!r}, which Spark cannot share",
            "use SQL on SQLite or PostgreSQL, REST, Hive or Glue",
        )
    return kind


def _plain(kind: str, properties: dict[str, str]) -> CatalogConf:
    uri = {"uri": properties["uri"]} if "uri" in properties else {}
    return CatalogConf({"type": kind, **uri})


def _sql(uri: str) -> CatalogConf:
    """The same database by JDBC. V1 is the layout of the catalog's tables that PyIceberg makes."""
    from sqlalchemy import make_url

    url = make_url(uri)
    shared = {"type": "jdbc", "jdbc.schema-version": "V1"}
    if url.get_backend_name() == "sqlite":
        address = {"uri": f"jdbc:sqlite:{url.database}", "jdbc.busy_timeout": _BUSY_MILLISECONDS}
        return CatalogConf(shared | address, (SQLITE_DRIVER,))
    login = {"jdbc.user": url.username, "jdbc.password": url.password}
    given = {key: value for key, value in login.items() if value}
    return CatalogConf(shared | {"uri": _postgres_address(url)} | given, (POSTGRES_DRIVER,))


def _postgres_address(url: URL) -> str:
    from urllib.parse import urlencode

    host = url.host or "localhost"
    port = f":{url.port}" if url.port else ""
    query = f"?{urlencode(dict(url.query))}" if url.query else ""
    return f"jdbc:postgresql://{host}{port}/{url.database or ''}{query}"


def _storage(properties: dict[str, str]) -> CatalogConf:
    """S3 through Iceberg's own client, addressed the way PyIceberg addresses it."""
    on_s3 = properties.get("warehouse", "").startswith(_S3_SCHEMES) or any(
        key.startswith("s3.") for key in properties
    )
    if not on_s3 or "io-impl" in properties:
        return CatalogConf({})
    storage = {"io-impl": _S3_FILE_IO}
    if "s3.endpoint" in properties:
        virtual = properties.get("s3.force-virtual-addressing", "false").lower() == "true"
        storage["s3.path-style-access"] = str(not virtual).lower()
    return CatalogConf(storage, (AWS_BUNDLE,))
