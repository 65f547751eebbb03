"""An S3 server from a wheel, on a loopback port."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

REGION = "us-east-1"


@dataclass(frozen=True)
class S3Server:
    """Where the server listens, and what PyIceberg has to be told of it."""

    endpoint: str

    @property
    def properties(self) -> dict[str, str]:
        """The properties for a catalog whose warehouse is on this server."""
        return {
            "s3.endpoint": self.endpoint,
            "s3.access-key-id": "test",
            "s3.secret-access-key": "test",
            "s3.region": REGION,
        }

    def create_bucket(self, name: str) -> str:
        """A new bucket; gives its `s3://` address."""
        self._client().create_bucket(Bucket=name)
        return f"s3://{name}"

    def keys(self, bucket: str) -> list[str]:
        """The names of all objects in a bucket."""
        pages = self._client().get_paginator("list_objects_v2").paginate(Bucket=bucket)
        return [item["Key"] for page in pages for item in page.get("Contents", ())]

    def _client(self) -> Any:
        import boto3

        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            aws_access_key_id="test",
            aws_secret_access_key="test",
            region_name=REGION,
        )


@contextmanager
def s3_server() -> Iterator[S3Server]:
    """Run the server until the block ends."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield S3Server(f"http://{host}:{port}")
    finally:
        server.stop()
