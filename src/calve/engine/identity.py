"""Ids that follow from what they stand for, so that saying the same again gives the same id."""

from __future__ import annotations

import hashlib
from uuid import UUID


def derived_uuid(text: str) -> str:
    """The version 3 UUID of a text, without a namespace: the same text gives the same id."""
    digest = hashlib.md5(text.encode("utf-8"), usedforsecurity=False).digest()
    return str(UUID(bytes=digest, version=3))
