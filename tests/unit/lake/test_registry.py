from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from calve.lake import Lake
from calve.lake.registry import register


@pytest.fixture
def location(own_lake: Lake) -> str:
    """The metadata of some table."""
    from pyiceberg.schema import Schema

    return own_lake.catalog("lake").create_table("db.t", Schema()).metadata_location


def test_of_several_that_need_the_same_new_namespace_none_fails(
    own_lake: Lake, location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another one makes the namespace after this one looked for it twice, and before it makes it itself."""
    catalog = own_lake.catalog("lake")
    real = catalog.namespace_exists
    looks: Iterator[int] = iter(range(100))

    def look(namespace: Any) -> bool:
        number = next(looks)
        if number == 1:
            assert not real(namespace)
            with monkeypatch.context() as patch:
                patch.setattr(catalog, "namespace_exists", real)
                catalog.create_namespace(namespace)
            return False
        return bool(real(namespace))

    monkeypatch.setattr(catalog, "namespace_exists", look)
    register(own_lake, own_lake.resolve("icdc.copy"), location)
    assert catalog.load_table("icdc.copy").metadata_location == location


def test_a_table_is_registered_twice_and_in_the_place_of_another(own_lake: Lake, location: str) -> None:
    from pyiceberg.schema import Schema

    catalog = own_lake.catalog("lake")
    catalog.create_table("db.other", Schema())
    for name in ("icdc.copy", "icdc.copy", "db.other"):
        register(own_lake, own_lake.resolve(name), location)
        assert catalog.load_table(name).metadata_location == location
